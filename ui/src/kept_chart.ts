// One PV of the last day as it was recorded, and as it would be with a dead band: two lines, one over the other.

import type { Samples } from "./decode.ts";
import { counted, h } from "./dom.ts";
import type { Range } from "./state.ts";
import { policyWords as words } from "./words/policy.ts";

const [WIDE, HIGH] = [900, 180];
const AIR = 8;
const SVG = "http://www.w3.org/2000/svg";

export interface Kept {
  name: string;
  samples: Pick<Samples, "x" | "y">;
  /** Those that would have been kept. */
  rows: number[];
  /** There were more samples than were looked at. */
  cut: boolean;
  band: string;
}

/** Both lines, with what each is; none where there is nothing that could be drawn. */
export function keptChart({ name, samples, rows, cut, band }: Kept, range: Range): HTMLElement | null {
  const numbers = samples.y.filter(Number.isFinite);
  if (numbers.length === 0) return null;
  const [low, high] = numbers.reduce(
    ([low, high], value) => [Math.min(low, value), Math.max(high, value)],
    [Infinity, -Infinity],
  );
  const x = (at: number) => ((Math.max(at, range.from) - range.from) / (range.to - range.from)) * WIDE;
  const y = (value: number) => HIGH - AIR - ((value - low) / (high - low || 1)) * (HIGH - 2 * AIR);
  const all = samples.x.map((_, i) => i);
  const line = (rows: number[], kind: string) => {
    const path = document.createElementNS(SVG, "path");
    path.setAttribute("class", kind);
    path.setAttribute("d", stepsOf(rows, samples, x, y));
    return path;
  };
  const svg = document.createElementNS(SVG, "svg");
  svg.setAttribute("viewBox", `0 0 ${WIDE} ${HIGH}`);
  svg.setAttribute("preserveAspectRatio", "none");
  svg.setAttribute("role", "img");
  svg.setAttribute("aria-label", words.chart(name, counted(all.length), counted(rows.length)));
  svg.append(line(all, "recorded"), line(rows, "kept"));
  const key = (kind: string, text: string) => h("span", {}, h("i", { class: kind }), text);
  return h(
    "figure",
    { class: "kept-chart" },
    svg,
    h("p", { class: "faint" }, h("span", {}, words.yesterday), h("span", {}, words.now)),
    h(
      "figcaption",
      {},
      key("recorded", words.recorded(counted(all.length), cut)),
      key("kept", words.kept(counted(rows.length), band)),
    ),
  );
}

/** A value holds until the next. Of many in one pixel the least and the greatest are drawn, and the last. */
function stepsOf(
  rows: number[],
  samples: Pick<Samples, "x" | "y">,
  x: (at: number) => number,
  y: (value: number) => number,
): string {
  const parts: string[] = [];
  let begun = false;
  for (let i = 0; i < rows.length;) {
    const pixel = Math.floor(x(samples.x[rows[i]!]!));
    let [least, greatest, last] = [Infinity, -Infinity, NaN];
    for (; i < rows.length && Math.floor(x(samples.x[rows[i]!]!)) === pixel; i++) {
      last = y(samples.y[rows[i]!]!);
      if (Number.isNaN(last)) continue;
      least = Math.min(least, last);
      greatest = Math.max(greatest, last);
    }
    if (least > greatest) {
      begun = false;
      continue;
    }
    parts.push(begun ? `H${pixel}` : `M${pixel} ${round(least)}`);
    if (least < greatest) parts.push(`V${round(least)}V${round(greatest)}`);
    if (!Number.isNaN(last)) parts.push(`V${round(last)}`);
    begun = true;
  }
  return begun ? `${parts.join("")}H${WIDE}` : parts.join("");
}

function round(value: number): string {
  return value.toFixed(1);
}
