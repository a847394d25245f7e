// A view of which nothing can be drawn as a line or a band, as of a table alone: the plot takes no room then, and what is below it has the height.

import { byId } from "./dom.ts";
import type { Trace } from "./trace.ts";
import { isWave } from "./waves.ts";
import { frameWords } from "./words/frame.ts";

/** Whether all that is shown stands below the plot. */
export function isPlotless(traces: Trace[]): boolean {
  const shown = traces.filter((trace) => !trace.hidden);
  return shown.some(isWave) && shown.every((trace) => isWave(trace) || isBlank(trace));
}

/** What has been asked for and has no value that could be drawn. What is still to come may be drawn: its axes are there at once. */
function isBlank({ kind, history, error }: Trace): boolean {
  return kind === "unknown" && (history !== null || error !== null);
}

/** Takes the room from the plot, or gives it back; whoever stood in it stands where the height has gone. */
export function setPlotless(isPlotless: boolean): void {
  const [plot, under, drawing] = [byId("plot"), byId("under"), byId("drawing")];
  if (plot.hidden === isPlotless) return;
  const hadFocus = (isPlotless ? plot : under) === document.activeElement;
  plot.hidden = isPlotless;
  document.body.classList.toggle("is-plotless", isPlotless);
  // A part without a name is no landmark to which anybody is led.
  if (isPlotless) drawing.removeAttribute("aria-label");
  else drawing.setAttribute("aria-label", frameWords.plot);
  if (hadFocus) mainPart().focus();
}

/** The plot, or what has its room: to what the keyboard comes back. */
export function mainPart(): HTMLElement {
  const plot = byId("plot");
  return plot.hidden ? byId("under") : plot;
}
