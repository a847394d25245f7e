// Colours of traces and alarms, and the theme. Everything else about looks is in style.css.

import type { Theme } from "./state.ts";

/**
 * Traces: apart from one another for all common kinds of colour blindness (they differ in lightness too) and apart from
 * the yellow, red and magenta of alarms. The ninth trace takes the first colour again, dashed.
 */
const LIGHT = ["#0063b8", "#b85c00", "#00785a", "#6d4bb3", "#0090a8", "#7a5230", "#3d4d5c", "#667a00"];
const DARK = ["#58b2f5", "#ffa54a", "#3ed6a2", "#b9a0ff", "#4fe0ee", "#d9b08c", "#b4c4d4", "#c6dc5a"];
const DASHES: number[][] = [[], [7, 4], [2, 3], [9, 3, 2, 3]];

export interface TraceStyle {
  stroke: string;
  dash: number[];
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
      dash: DASHES[Math.floor(index / colours.length) % DASHES.length]!,
    }),
  };
}

export function reducesMotion(): boolean {
  return window.matchMedia("(prefers-reduced-motion: reduce)").matches;
}
