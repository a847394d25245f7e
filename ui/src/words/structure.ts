// What the page says of structures that are tables or images.

/** Tables and images. */
export const structureWords = {
  tableOf: (name: string) => `The rows of ${name}`,
  row: "Row",
  rowNumber: "Row number",
  column: "Column",
  against: "against",
  plot: (column: string) => `Plot ${column}`,
  noRows: "The table has no rows.",
  rows: (first: string, last: string, all: string) => `Rows ${first} to ${last} of ${all}`,
  rowsBefore: "The rows before",
  rowsNext: "The next rows",
  columnOf: (column: string, name: string, rows: number) =>
    `${column} of ${name}, ${rows} rows; arrows read them one by one`,
  pairsOf: (y: string, x: string, name: string) =>
    `${y} against ${x} of ${name}; arrows read the rows one by one`,
  imageOf: (name: string, width: number, height: number) =>
    `${name}, an image of ${width} by ${height} pixels; arrows read them one by one`,
  size: (width: string, height: string, isColour: boolean, low: string, high: string) =>
    `${width} × ${height} pixels${isColour ? " in red, green and blue" : ""}, ${low} to ${high}`,
  from: "From",
  to: "to",
  lowest: "Numbers from here down have the darkest colour",
  highest: "Numbers from here up have the brightest colour",
  fit: "Fit",
  shades: "In colours or in grey",
  colour: "Colours",
  grey: "Grey",
  compressed: (codec: string, bytes: string | null) =>
    `This image is compressed with ${codec}${bytes === null ? "" : `, ${bytes} bytes`}: it is kept as it came, and the page cannot show it. ` +
    "Get it with Python or curl and decompress it there, or have the IOC send it without a codec.",
  misfit: (dimensions: string, elements: string) =>
    `The image says that it has ${dimensions} pixels, and has ${elements} elements: it cannot be shown.`,
  large: (dimensions: string) => `The image has ${dimensions} pixels, more than the page can show.`,
  dimensions: (dimensions: string) =>
    `The array has the dimensions ${dimensions}: as an image are shown two, or three of which one is that of the colours.`,
  noDimensions: "none",
  empty: "There are no pixels in this sample.",
} as const;
