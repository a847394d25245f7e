// Colours of traces and alarms, and the theme. Everything else about looks is in style.css.

import type { Theme } from "./state.ts";

/**
 * Traces: any two are apart for all common kinds of colour blindness (they differ in lightness too), and all are apart
 * from the yellow, red and magenta of alarms.
 */
const LIGHT = [
  "#3d6fa7",
  "#e56000",
  "#853d5e",
  "#405800",
  "#179d61",
  "#bd7390",
  "#2b32b5",
  "#8d75fa",
  "#393603",
  "#9c84b6",
  "#5f232c",
  "#086f40",
  "#64677f",
  "#896769",
  "#492845",
  "#023a6d",
];
const DARK = [
  "#579bc3",
  "#ff8900",
  "#ae6980",
  "#6d8b51",
  "#21ffdd",
  "#ffafb4",
  "#7a68f2",
  "#bcbfff",
  "#d4e9a0",
  "#a792a2",
  "#796c01",
  "#41cd62",
  "#98c0cd",
  "#b98f7e",
  "#ba3087",
  "#4874a0",
];

/** The first eight traces are solid, the next eight dashed, and so on: 32 are distinct. The border is for the table. */
const LINES: Pick<TraceStyle, "dash" | "border">[] = [
  { dash: [], border: "solid" },
  { dash: [7, 4], border: "dashed" },
  { dash: [2, 3], border: "dotted" },
  { dash: [9, 3, 2, 3], border: "double" },
];
const TRACES_A_LINE = 8;

export interface TraceStyle {
  stroke: string;
  dash: number[];
  border: string;
}

export interface Palette {
  dark: boolean;
  text: string;
  faint: string;
  grid: string;
  back: string;
  track: string;
  alarms: string[];
  trace(colour: number): TraceStyle;
}

const systemDark = window.matchMedia("(prefers-color-scheme: dark)");

export function isDark(theme: Theme): boolean {
  return theme === "system" ? systemDark.matches : theme === "dark";
}

/** Calls back when the system goes from light to dark or back. */
export function onSystemTheme(callback: () => void): void {
  systemDark.addEventListener("change", callback);
}

/** Sets the page's theme and reads back the colours that canvases draw with. */
export function applyTheme(theme: Theme): Palette {
  const dark = isDark(theme);
  document.documentElement.dataset.theme = dark ? "dark" : "light";
  const style = getComputedStyle(document.documentElement);
  const colour = (name: string) => style.getPropertyValue(name).trim();
  const colours = dark ? DARK : LIGHT;
  return {
    dark,
    text: colour("--text"),
    faint: colour("--faint"),
    grid: colour("--grid"),
    back: colour("--back"),
    track: colour("--track"),
    alarms: ["--ok", "--minor", "--major", "--invalid", "--undefined"].map(colour),
    trace: (index) => ({
      stroke: colours[index % colours.length]!,
      ...LINES[Math.floor(index / TRACES_A_LINE) % LINES.length]!,
    }),
  };
}

export function reducesMotion(): boolean {
  return window.matchMedia("(prefers-reduced-motion: reduce)").matches;
}
