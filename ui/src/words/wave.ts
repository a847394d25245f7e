// What the page says of waveforms.

/** Waveforms. */
export const waveWords = {
  before: "The sample before",
  next: "The next sample",
  unfold: "Show the waveform ( w )",
  fold: "Fold the waveforms ( w )",
  over: "Over time",
  reference: "Take as reference",
  against: (time: string) => `Δ to ${time}`,
  slider: "Which of the waveforms",
  loading: (asked: number, all: number) => `${asked} of ${all} moments are looked at …`,
  columns: (count: number) =>
    count === 0
      ? "No waveform in this range."
      : `${count} waveforms, at moments evenly apart; others may lie between them: zoom in to see each.`,
  heatLabel: (name: string, from: string, to: string) =>
    `${name} from ${from} to ${to}, its elements by colour`,
  chartLabel: (name: string, elements: number) =>
    `${name}, ${elements} elements; arrows read them one by one`,
  noSample: "no sample before this moment",
  cutHere: (text: string) => `${text}\n… cut here`,
} as const;
