// The dialog of what is set for one PV alone: its axis, pane, colour, width, line, limits. Each change is drawn at once, and stands in the URL.

import { ApiError, faultText, isAbort } from "./api.ts";
import { byId, h } from "./dom.ts";
import { COLOURS, PLAIN, readFix, type Join, type Look, type Side } from "./look.ts";
import { lastBefore, namedMoments, type Laid, type NamedMoment } from "./moments.ts";
import { isPv, titleOfName } from "./source.ts";
import type { Range } from "./state.ts";
import type { Palette } from "./style.ts";
import { commonWords } from "./words/common.ts";
import { settingsWords as words } from "./words/settings.ts";

export interface SettingsActions {
  look(name: string): Look;
  set(name: string, look: Look): void;
  /** The letters of the panes, and where the PV's colour stands now. */
  panes(): string[];
  colour(name: string): number;
  palette(): Palette;
  /** Lays the PV of so long before over it, or of a moment; not where that is neither. */
  layOver(name: string, by: string): boolean;
  /** Lays the one moment at the other. */
  lay(name: string, laid: Laid): boolean;
  range(): Range;
}

const WIDTHS = [1, 1.5, 2, 3, 4];

export class Settings {
  private dialog = byId<HTMLDialogElement>("settings");

  constructor(private actions: SettingsActions) {}

  /** What is to be set has the focus: the ends of the axis, another time laid over, or the first of all. */
  open(name: string, part?: "ends" | "over"): void {
    this.fill(name);
    if (!this.dialog.open) this.dialog.showModal();
    const first = { ends: "ends", over: "over-times" };
    const place = part ? this.dialog.querySelector(`.${first[part]}`) : this.dialog;
    place?.querySelector<HTMLElement>(part ? "input" : "select")?.focus();
  }

  private fill(name: string): void {
    const look = this.actions.look(name);
    const set = (change: Partial<Look>) => this.actions.set(name, { ...this.actions.look(name), ...change });
    const close = h(
      "button",
      { type: "button", "aria-label": commonWords.close, click: () => this.dialog.close() },
      "✕",
    );
    const reset = () => {
      this.actions.set(name, PLAIN);
      this.fill(name);
      this.dialog.querySelector<HTMLElement>("select")?.focus();
    };
    this.dialog.replaceChildren(
      h("header", {}, h("h2", { id: "settings-title" }, words.title(titleOfName(name))), close),
      h(
        "div",
        { class: "fields" },
        choice(words.axis, words.axes, look.axis ?? "", (axis) =>
          set({ axis: (axis || null) as Side | null }),
        ),
        choice(
          words.pane,
          { "": words.axes[""], ...Object.fromEntries(this.actions.panes().map((pane) => [pane, pane])) },
          look.pane ?? "",
          (pane) => set({ pane: pane || null }),
        ),
        choice(words.line, words.lines, look.line ?? "", (line) =>
          set({ line: (line || null) as Join | null }),
        ),
        choice(
          words.width,
          Object.fromEntries(WIDTHS.map((width) => [String(width), words.pixels(width)])),
          String(look.width ?? 1.5),
          (width) => set({ width: Number(width) === 1.5 ? null : Number(width) }),
        ),
        this.colours(name, set),
        this.ends(look, set),
        check(words.log, look.log, (log) => set({ log })),
        check(words.norm, look.norm, (norm) => set({ norm })),
        check(words.limits, look.limits, (limits) => set({ limits })),
        ...(isPv(name) ? [this.over(name)] : []),
      ),
      h(
        "p",
        { class: "actions" },
        h("button", { type: "button", click: reset }, words.reset),
        h("button", { type: "button", class: "primary", click: () => this.dialog.close() }, words.done),
      ),
    );
  }

  private colours(name: string, set: (change: Partial<Look>) => void): HTMLElement {
    const palette = this.actions.palette();
    const now = this.actions.colour(name);
    const buttons = Array.from({ length: COLOURS / 2 }, (_, i) => {
      const { stroke, border } = palette.trace(i);
      const label = `${words.colour} ${i + 1}${border === "solid" ? "" : `, ${border}`}`;
      const input = h("input", {
        type: "radio",
        name: "colour",
        value: String(i),
        "aria-label": label,
        change: () => set({ colour: i }),
      });
      input.checked = i === now;
      const swatch = h("span", { class: "swatch", title: label });
      swatch.style.setProperty("--trace", stroke);
      swatch.style.setProperty("--border", border);
      return h("label", {}, input, swatch);
    });
    return h("fieldset", { class: "colours" }, h("legend", {}, words.colour), ...buttons);
  }

  /** The same PV at another time. */
  private over(name: string): HTMLElement {
    const said = h("span", { class: "said", role: "alert" });
    const lay = (by: string) => {
      if (this.actions.layOver(name, by)) this.dialog.close();
      else said.textContent = words.noLength;
    };
    const buttons = words.overs.map(([by, text]) =>
      h("button", { type: "button", "data-over": by, click: () => lay(by) }, text),
    );
    const field = h("input", {
      ...{ type: "text", size: "20", placeholder: words.overHint },
      ...{ "aria-label": words.overBy, title: words.overHow },
    });
    field.addEventListener("keydown", (event) => {
      if (event.key !== "Enter") return;
      event.preventDefault();
      lay(field.value);
    });
    const named = h("span", { class: "over-named" });
    void this.named(name, named, said);
    return h(
      "fieldset",
      { class: "over-times" },
      h("legend", {}, words.over),
      ...buttons,
      named,
      field,
      said,
    );
  }

  /** A button for each moment that somebody has given a name. */
  private async named(name: string, place: HTMLElement, said: HTMLElement): Promise<void> {
    let moments: NamedMoment[] = [];
    try {
      moments = await namedMoments();
    } catch (error) {
      // Without them there are lengths.
      if (!(error instanceof ApiError)) throw error;
    }
    place.replaceChildren(
      ...moments.map((moment) =>
        h("button", { type: "button", click: () => void this.layLast(name, moment, said) }, moment.name),
      ),
    );
  }

  /** Who closes the dialog meanwhile does not wait for it any more. */
  private async layLast(name: string, moment: NamedMoment, said: HTMLElement): Promise<void> {
    const controller = new AbortController();
    this.dialog.addEventListener("close", () => controller.abort(), { once: true });
    said.textContent = words.looking(moment.name);
    try {
      const laid = await lastBefore(moment, this.actions.range(), controller.signal);
      if (laid && this.actions.lay(name, laid)) this.dialog.close();
      else said.textContent = words.notBefore(moment.name);
    } catch (error) {
      if (!isAbort(error)) said.textContent = faultText(error);
    }
  }

  private ends(look: Look, set: (change: Partial<Look>) => void): HTMLElement {
    const said = h("span", { class: "said", role: "alert" });
    const field = (label: string, value: number | undefined) => {
      const input = h("input", {
        type: "text",
        inputmode: "decimal",
        size: "9",
        placeholder: words.byValues,
        "aria-label": label,
        change: () => take(),
      });
      input.value = value === undefined ? "" : String(value);
      return input;
    };
    const from = field(words.from, look.fix?.[0]);
    const to = field(words.to, look.fix?.[1]);
    const take = () => {
      const isNone = from.value.trim() === "" && to.value.trim() === "";
      const fix = isNone ? null : readFix(`${from.value}..${to.value}`);
      const isWrong = !isNone && fix === null;
      // One end alone is not wrong yet.
      const isHalf = (from.value.trim() === "") !== (to.value.trim() === "");
      said.textContent = isWrong && !isHalf ? words.fixWrong : "";
      for (const input of [from, to]) {
        if (isWrong && !isHalf) input.setAttribute("aria-invalid", "true");
        else input.removeAttribute("aria-invalid");
      }
      if (!isWrong) set({ fix });
    };
    return h("div", { class: "ends" }, h("span", {}, words.from), from, h("span", {}, words.to), to, said);
  }
}

function choice(
  label: string,
  texts: Record<string, string>,
  value: string,
  take: (value: string) => void,
): HTMLElement {
  const select = h("select", { change: (event: Event) => take((event.target as HTMLSelectElement).value) });
  for (const [key, text] of Object.entries(texts)) select.append(h("option", { value: key }, text));
  select.value = value;
  return h("label", {}, h("span", {}, label), select);
}

function check(label: string, value: boolean, take: (value: boolean) => void): HTMLElement {
  const input = h("input", {
    type: "checkbox",
    change: (event: Event) => take((event.target as HTMLInputElement).checked),
  });
  input.checked = value;
  return h("label", { class: "check" }, input, label);
}
