// What is set for one PV alone, and its form in the page's URL: `set=right,colour:3,width:2,points,log,norm,fix:0..100,limits`.

/** How samples are joined: each value holds until the next, straight from one to the next, or not at all. */
export type Join = "steps" | "line" | "points";

/** On which side of its pane its axis stands, or that it has a pane of its own. */
export type Side = "left" | "right" | "own";

export interface Look {
  axis: Side | null;
  /** The letter of its pane. */
  pane: string | null;
  /** A place in the palette, from 0. */
  colour: number | null;
  /** Of the line, in CSS pixels. */
  width: number | null;
  line: Join | null;
  log: boolean;
  /** It is drawn over the height of its pane, whatever it spans, beside others of which that is said. */
  norm: boolean;
  /** The ends of its axis. */
  fix: [number, number] | null;
  /** The IOC's limits are drawn as lines. */
  limits: boolean;
}

export const PLAIN: Look = {
  axis: null,
  pane: null,
  colour: null,
  width: null,
  line: null,
  log: false,
  norm: false,
  fix: null,
  limits: false,
};

/** Sixteen colours by three dashes. */
export const COLOURS = 48;

const WIDTH_MIN = 0.5;
const WIDTH_MAX = 8;

export function isPlain(look: Look): boolean {
  return lookText(look) === "";
}

export function lookText(look: Look): string {
  const parts: string[] = [];
  if (look.axis !== null) parts.push(look.axis);
  if (look.pane !== null) parts.push(`pane:${look.pane}`);
  if (look.colour !== null) parts.push(`colour:${look.colour + 1}`);
  if (look.width !== null) parts.push(`width:${look.width}`);
  if (look.line !== null) parts.push(look.line);
  if (look.log) parts.push("log");
  if (look.norm) parts.push("norm");
  if (look.fix !== null) parts.push(`fix:${look.fix[0]}..${look.fix[1]}`);
  if (look.limits) parts.push("limits");
  return parts.join(",");
}

/** What a URL says; what cannot be understood of it is left out. */
export function readLook(text: string): Look {
  const look = { ...PLAIN };
  for (const part of text.split(",")) {
    const [word, value] = part.split(":", 2) as [string, string | undefined];
    if (word === "left" || word === "right" || word === "own") look.axis = word;
    else if (word === "steps" || word === "line" || word === "points") look.line = word;
    else if (word === "log") look.log = true;
    else if (word === "norm") look.norm = true;
    else if (word === "limits") look.limits = true;
    else if (word === "pane" && /^[A-Z]$/.test(value ?? "")) look.pane = value!;
    else if (word === "colour") look.colour = within(Number(value) - 1, 0, COLOURS - 1, true);
    else if (word === "width") look.width = within(Number(value), WIDTH_MIN, WIDTH_MAX, false);
    else if (word === "fix") look.fix = readFix(value ?? "");
  }
  return look;
}

/** Two ends that an axis can have; none otherwise. */
export function readFix(text: string): [number, number] | null {
  const [low, high] = text.split("..").map((end) => (end.trim() === "" ? NaN : Number(end)));
  return Number.isFinite(low) && Number.isFinite(high) && low! < high! ? [low!, high!] : null;
}

function within(value: number, low: number, high: number, isWhole: boolean): number | null {
  return value >= low && value <= high && (!isWhole || Number.isInteger(value)) ? value : null;
}
