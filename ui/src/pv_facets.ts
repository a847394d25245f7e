// By what the table of all PVs is narrowed: state, IOC, policy, group, and who added them, each with how many there are.

import type { Facets, Narrow, StateFilter, Status } from "./api.ts";
import { counted, h } from "./dom.ts";
import { manageWords as words } from "./words/manage.ts";

/** The last is there only where nobody answers for some PVs. */
export const STATES: StateFilter[] = ["any", "connected", "disconnected", "searching", "paused", "unknown"];
export const NARROWED_BY = ["ioc", "policy", "group", "added_by"] as const;
export type NarrowKey = (typeof NARROWED_BY)[number];
/** What the archiver calls PVs that have none of it. */
const WITHOUT = "-";
/** So many of each are shown at first. */
const SHOWN = 6;

export interface FacetState {
  state: StateFilter;
  narrow: Narrow;
  /** As the archiver counts them; none while it has not answered. */
  facets: Facets | null;
  status: Status | null;
  /** Nobody answers for some PVs. */
  isMissing: boolean;
}

export class FacetBlocks {
  readonly element = h("div", { class: "facets", role: "group", "aria-label": words.stateFacet });
  /** What the table is narrowed to, each to be taken away. */
  readonly tokens = h("span", { class: "tokens", role: "group", "aria-label": words.tokensLabel });
  private opened = new Set<NarrowKey>();
  private shown: FacetState | null = null;

  constructor(private narrowed: (change: { state?: StateFilter; narrow?: Narrow }) => void) {}

  show(of: FacetState): void {
    this.shown = of;
    const focused = (document.activeElement as HTMLElement | null)?.dataset.facet;
    this.element.replaceChildren(...this.states(of), ...NARROWED_BY.flatMap((key) => this.block(key, of)));
    const again = [...this.element.querySelectorAll<HTMLElement>("[data-facet]")];
    if (focused !== undefined) again.find((button) => button.dataset.facet === focused)?.focus();
    this.showTokens(of);
  }

  private states({ state, facets, status, isMissing }: FacetState): HTMLElement[] {
    const shown = STATES.filter((one) => one !== "unknown" || isMissing || state === one);
    const all = facets && Object.values(facets.state).reduce((sum, pvs) => sum + pvs, 0);
    const count = (one: StateFilter) =>
      one === "any"
        ? (all ?? status?.pvs.total)
        : facets
          ? facets.state[one]
          : one === "unknown"
            ? undefined
            : status?.pvs[one];
    const buttons = shown.map((one) => {
      const button = this.button(one, words.states[one], count(one) ?? null, one === state, () =>
        this.narrowed({ state: one }),
      );
      button.dataset.state = one === "any" ? "" : one;
      return button;
    });
    return [h("h2", {}, words.stateFacet), ...buttons];
  }

  private block(key: NarrowKey, { narrow, facets }: FacetState): HTMLElement[] {
    const found = facets?.[key] ?? [];
    const chosen = narrow[key] ?? null;
    const isKnown = found.some(({ name }) => (name ?? WITHOUT) === chosen);
    const all = chosen === null || isKnown ? found : [{ name: chosen, pvs: 0 }, ...found];
    // Where all PVs are alike there is nothing to choose.
    if (all.length < 2 && chosen === null) return [];
    const isOpen = this.opened.has(key);
    const first = all.filter(({ name }, i) => isOpen || i < SHOWN || (name ?? WITHOUT) === chosen);
    const rest = all.length - first.length;
    const buttons = first.map(({ name, pvs }) => {
      const value = name ?? WITHOUT;
      const isChosen = value === chosen;
      return this.button(`${key}:${value}`, name ?? words.without[key], pvs, isChosen, () =>
        this.narrowed({ narrow: { ...narrow, [key]: isChosen ? undefined : value } }),
      );
    });
    const more = h(
      "button",
      { type: "button", class: "rest", "data-facet": `${key}:more`, click: () => this.open(key) },
      isOpen ? words.fewer : words.moreOf(rest),
    );
    return [
      h("h2", {}, words.narrowedBy[key]),
      ...buttons,
      ...(rest > 0 || (isOpen && all.length > SHOWN) ? [more] : []),
    ];
  }

  private open(key: NarrowKey): void {
    if (!this.opened.delete(key)) this.opened.add(key);
    if (this.shown) this.show(this.shown);
  }

  private button(
    facet: string,
    text: string,
    count: number | null,
    isPressed: boolean,
    click: () => void,
  ): HTMLElement {
    return h(
      "button",
      { type: "button", "aria-pressed": String(isPressed), "data-facet": facet, title: text, click },
      h("span", {}, text),
      h("b", {}, count === null ? "" : counted(count)),
    );
  }

  private showTokens({ narrow }: FacetState): void {
    const chosen = NARROWED_BY.filter((key) => narrow[key] !== undefined);
    this.tokens.hidden = chosen.length === 0;
    this.tokens.replaceChildren(
      ...chosen.map((key) => {
        const value = narrow[key]!;
        const text = words.token(words.narrowedBy[key], value === WITHOUT ? words.without[key] : value);
        const click = () => this.narrowed({ narrow: { ...narrow, [key]: undefined } });
        return h(
          "button",
          { type: "button", class: "token", "aria-label": words.noToken(text), click },
          text,
          " ✕",
        );
      }),
    );
  }
}
