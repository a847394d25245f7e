// Every text that a person reads stands in src/words/, by the screen on which it is read: no other file of the page has one.

import assert from "node:assert/strict";
import { readdirSync, readFileSync } from "node:fs";
import { test } from "node:test";
import ts from "typescript";

const ROOT = new URL("..", import.meta.url).pathname;

/** What looks like a text and is none, by its file; of all files where that is `*`. */
const NO_TEXTS: [file: string, like: RegExp, why: string][] = [
  ["*", /sans-serif$/, "fonts of the canvas"],
  ["*", /^(translate|rgb|minmax|linear-gradient)\(/, "places and colours"],
  ["condition.ts", /^\$ (while|for >=|<=|>=|[<>=!]+) \$$|^severity\(/, "the language of conditions"],
  ["condition.ts", /^ and $/, "the language of conditions"],
  ["drawer_panel.ts", /^shift\(/, "the language of formulas"],
  ["keys.ts", /^input, /, "elements in which letters are typed"],
  ["known.ts", /^no node has it$/, "how the archiver begins a reason"],
  ["page.ts", /^live \$$/, "what a view was loaded for"],
  ["waveform.ts", /^live \$$/, "what a waveform was drawn for"],
  ["panel.ts", /^archive operates$/, "classes"],
  ["panes.ts", /^(own|like|units) \$$/, "which PVs stand in one pane"],
  [
    "share.ts",
    /^( {4}print\(|from pvark import Archive|for name in names:|archive = |curl )|^\s*</,
    "programs, and a plot of Phoebus",
  ],
  ["share.ts", /^-\$ seconds$/, "a time as Phoebus writes it"],
  ["snapshot_table.ts", /^number is-a$/, "classes"],
  ["svg.ts", /^<| [a-z-]+="/, "elements of SVG"],
];

/** Where a single word is read, too: attributes, and what is written into an element. */
const READ_ATTRIBUTES = /^(aria-label|aria-valuetext|aria-description|title|placeholder|alt)$/;
const READ_PROPERTIES = /\.(textContent|innerText|title|placeholder|ariaLabel|ariaValueText)$/;
/** Calls whose texts are for the browser or whoever mends the page. */
const UNREAD_CALLS = /(^|\.)(querySelector|querySelectorAll|closest|matches|matchMedia|Error|RegExp)$/;
const UNREAD_ATTRIBUTES =
  /^(class|data-.*|style|rel|for|id|role|type|name|autocomplete|value|inputmode|enterkeyhint)$/;

/** A text as written, with a $ for each value in it. */
function textOf(node: ts.Node): string | null {
  if (ts.isStringLiteral(node) || ts.isNoSubstitutionTemplateLiteral(node)) return node.text;
  if (!ts.isTemplateExpression(node)) return null;
  return node.head.text + node.templateSpans.map(({ literal }) => `$${literal.text}`).join("");
}

/** What stands around a text that may be chosen, or be one of several. */
function outermost(node: ts.Node): ts.Node {
  const { parent } = node;
  const isChoice =
    ts.isConditionalExpression(parent) ||
    ts.isParenthesizedExpression(parent) ||
    ts.isSpreadElement(parent) ||
    ts.isArrayLiteralExpression(parent) ||
    (ts.isBinaryExpression(parent) && /^(\?\?|\|\||&&|\+)$/.test(parent.operatorToken.getText()));
  return isChoice ? outermost(parent) : node;
}

function nameOf(property: ts.PropertyAssignment): string {
  return ts.isStringLiteral(property.name) ? property.name.text : property.name.getText();
}

/** Whether a text is read by people, as one word too; by nobody; or as far as it has several. */
function readAs(node: ts.Node): "read" | "unread" | "unknown" {
  const outer = outermost(node);
  const { parent } = outer;
  if (ts.isPropertyAssignment(parent)) {
    if (parent.name === node) return "unread";
    return READ_ATTRIBUTES.test(nameOf(parent))
      ? "read"
      : UNREAD_ATTRIBUTES.test(nameOf(parent))
        ? "unread"
        : "unknown";
  }
  if (ts.isBinaryExpression(parent) && parent.operatorToken.getText() === "=")
    return READ_PROPERTIES.test(parent.left.getText()) ? "read" : "unknown";
  if (!ts.isCallExpression(parent) && !ts.isNewExpression(parent)) return "unknown";
  const call = parent.expression.getText();
  const place = (parent.arguments ?? ([] as ts.Expression[])).indexOf(outer as ts.Expression);
  if (UNREAD_CALLS.test(call)) return "unread";
  if (call === "h") return place >= 2 ? "read" : "unread";
  if (call === "setText" || call.endsWith(".append") || call.endsWith(".replaceChildren")) return "read";
  const attribute = parent.arguments?.[1];
  if ((call === "set" || call.endsWith(".setAttribute")) && attribute) {
    const [first] = parent.arguments!;
    const name = textOf(call === "set" ? attribute : first!);
    return outer !== parent.arguments!.at(-1) || name === null || !READ_ATTRIBUTES.test(name)
      ? "unread"
      : "read";
  }
  return "unknown";
}

/** The words of a text; a value in it may be one. */
function wordsOf(text: string): string[] {
  return text.split(/\s+/).filter((word) => /\p{L}{2,}|\$/u.test(word));
}

/** The texts of a script that people read, each with its line. */
export function textsIn(file: string, source: string): string[] {
  const script = ts.createSourceFile(file, source, ts.ScriptTarget.Latest, true);
  const found: string[] = [];
  const visit = (node: ts.Node): void => {
    if (ts.isImportDeclaration(node) || ts.isExportDeclaration(node) || ts.isLiteralTypeNode(node)) return;
    const text = textOf(node);
    const words = text === null ? [] : wordsOf(text);
    if (text !== null && words.some((word) => /\p{L}{2,}/u.test(word))) {
      const as = readAs(node);
      const isText = as === "read" || (as === "unknown" && words.length >= 2);
      const isNone = NO_TEXTS.some(([of, like]) => (of === "*" || of === file) && like.test(text));
      const { line } = script.getLineAndCharacterOfPosition(node.getStart());
      if (isText && !isNone) found.push(`${file}:${line + 1}: ${JSON.stringify(text)}`);
    }
    ts.forEachChild(node, visit);
  };
  visit(script);
  return found;
}

/** The same of a page: between its elements, and in their attributes. */
export function textsOfPage(html: string): string[] {
  const bare = html.replace(/<!--.*?-->|<!doctype html>/gs, "").replace(/\{\{[\w.]+\}\}/g, "");
  const between = [...bare.matchAll(/>([^<]+)</g)].map(([, text]) => text!.trim());
  const attributes = [...bare.matchAll(/ ([\w-]+)="([^"]+)"/g)]
    .filter(([, name]) => READ_ATTRIBUTES.test(name!))
    .map(([, , text]) => text!);
  return [...between, ...attributes].filter((text) => /\p{L}{2,}/u.test(text));
}

test("no script has a text of its own that people read", () => {
  const files = readdirSync(`${ROOT}src`).filter((name) => name.endsWith(".ts"));
  assert.ok(files.length > 80, "the scripts of the page");
  const texts = files.flatMap((file) => textsIn(file, readFileSync(`${ROOT}src/${file}`, "utf8")));
  assert.deepEqual(texts, [], "move these to src/words/");
});

test("index.html has no text of its own that people read", () => {
  assert.deepEqual(textsOfPage(readFileSync(`${ROOT}index.html`, "utf8")), [], "move these to src/words/");
});

test("what is read is found wherever it stands, and what is not is left alone", () => {
  const read = [
    'setText(line, "Nothing here");',
    'setText(line, isLost ? "lost" : words.well);',
    "const text = `${count} samples of it`;",
    'element.title = "Remove";',
    'h("p", { class: "hint" }, "loading");',
    'h("button", { "aria-label": "Close" }, "✕");',
    'set(element, "aria-label", "Close");',
    'throw new ApiError("code", "it is not there", null);',
    'const heads = ["First one", "Second one"];',
  ];
  for (const line of read) assert.notDeepEqual(textsIn("any.ts", line), [], line);
  const unread = [
    'h("p", { class: "hint is-error", "data-of": "a b" }, words.none);',
    'page.querySelector("main section");',
    "const path = `/pvs/${name}/bins?from=${from}&to=${to}`;",
    'import { one } from "./two words.ts";',
    'if (key === "Enter") set(element, "aria-busy", "true");',
    'context.font = "11px system-ui, sans-serif";',
  ];
  for (const line of unread) assert.deepEqual(textsIn("any.ts", line), [], line);
  assert.deepEqual(textsOfPage('<p title="Say it">A text <b>{{a.b}}</b></p>').sort(), ["A text", "Say it"]);
});
