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
  slider: "Which moment of the range",
  sides: "What of the waveforms of a bin is shown",
  side: {
    furthest: "Furthest from the mean",
    max: "Largest",
    min: "Smallest",
    mean: "Mean",
  },
  loading: (percent: number) => `${percent} % of the range is read …`,
  none: "No waveform in this range.",
  eachOf: (count: number) =>
    count === 1 ? "The one waveform of this range." : `Each of ${count} waveforms.`,
  binned: (count: number, width: string, each: number) =>
    `of each element, ${count.toLocaleString("en")} waveforms in bins of ${width}` +
    (each > 1 ? `, ${each} neighbouring elements in a row` : "") +
    ". None is left out. Double click zooms in.",
  pointed: (elements: string, value: string, from: string, to: string) =>
    `[${elements}] ${value}, ${from}${to === "" ? "" : ` to ${to}`}`,
  heatLabel: (name: string, from: string, to: string) =>
    `${name} from ${from} to ${to}, its elements by colour`,
  chartLabel: (name: string, elements: number) =>
    `${name}, ${elements} elements; arrows read them one by one`,
  noSample: "no sample before this moment",
  cutHere: (text: string) => `${text}\n… cut here`,
} as const;
