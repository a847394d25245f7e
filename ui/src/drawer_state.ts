// What the drawer below the plot shows of an analysis, as a part of the view and of its address: which, of which rows, and how.

export const TABS = ["xy", "histogram", "fft", "samples"] as const;
export type Tab = (typeof TABS)[number];

export interface DrawerState {
  tab: Tab;
  /** What was chosen in it, by the keys of the address; what was not is left to the page. */
  choices: Choices;
}

export type Choices = Readonly<Record<string, string | undefined>>;

/** What can be chosen of each. */
const KEYS: Record<Tab, readonly string[]> = {
  xy: ["x", "y", "by", "step", "xin", "yin"],
  histogram: ["of", "bins", "weight", "within"],
  fft: ["of", "window", "output", "axes", "step", "fill", "band"],
  samples: ["of"],
};

/** Formulas are no longer. */
const LETTERS_MAX = 16_384;

/** The parts of an address, without what lies between them. */
export function drawerParts(drawer: DrawerState | null, encode: (text: string) => string): string[] {
  if (!drawer) return [];
  const { tab, choices } = drawer;
  const chosen = KEYS[tab].filter((key) => choices[key] !== undefined && choices[key] !== "");
  return [`drawer=${tab}`, ...chosen.map((key) => `${key}=${encode(choices[key]!)}`)];
}

export function readDrawer(params: URLSearchParams): DrawerState | null {
  const tab = TABS.find((tab) => tab === params.get("drawer"));
  if (!tab) return null;
  const choices: Record<string, string> = {};
  for (const key of KEYS[tab]) {
    const text = params.get(key);
    if (text !== null && text !== "" && text.length <= LETTERS_MAX) choices[key] = text;
  }
  return { tab, choices };
}

/** Another tab of the same row. */
export function turned({ choices }: DrawerState, tab: Tab): DrawerState {
  const row = choices.of ?? choices.x;
  return { tab, choices: row === undefined ? {} : tab === "xy" ? { x: row } : { of: row } };
}
