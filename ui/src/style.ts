// Colours of traces and alarms, and the theme. The colours themselves are in tokens.css, everything else about looks in the files of style.css.

import type { Theme } from "./state.ts";

/** So many colours there are; eight of them have a dash of their own. */
const COLOURS = 16;
const COLOURS_A_DASH = 8;

/** How a dash looks in the panel, by its number in tokens.css. */
const BORDERS = ["solid", "dashed", "dotted"];

export interface TraceStyle {
  stroke: string;
  dash: number[];
  border: string;
}

export interface Palette {
  dark: boolean;
  text: string;
  faint: string;
  weak: string;
  grid: string;
  back: string;
  track: string;
  hatch: string;
  accent: string;
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
  const colours = Array.from({ length: COLOURS }, (_, i) => colour(`--trace-${i + 1}`));
  const dashes = BORDERS.map((_, i) => dashOf(colour(`--dash-${i + 1}`)));
  return {
    dark,
    text: colour("--text"),
    faint: colour("--text-2"),
    weak: colour("--text-3"),
    grid: colour("--grid"),
    back: colour("--bg"),
    track: colour("--sunken"),
    hatch: colour("--hatch"),
    accent: colour("--accent"),
    alarms: ["--text-3", "--minor", "--major", "--invalid", "--line-strong"].map(colour),
    trace: (index) => {
      // Colours 1 to 8 solid, 9 to 16 dashed, 1 to 8 dotted, and so on: 48 looks.
      const dash = Math.floor(index / COLOURS_A_DASH) % BORDERS.length;
      return { stroke: colours[index % COLOURS]!, dash: dashes[dash]!, border: BORDERS[dash]! };
    },
  };
}

function dashOf(text: string): number[] {
  return text === "none" ? [] : text.split(/\s+/).map(Number);
}

export function reducesMotion(): boolean {
  return window.matchMedia("(prefers-reduced-motion: reduce)").matches;
}
