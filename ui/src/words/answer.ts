// What the page says where an answer is refused or broken.

/** What is wrong with an answer of the archiver, or with there being none. */
export const answerWords = {
  brokenOff: "the archiver broke off its answer",
  none: "the archiver does not answer",
  notJson: (status: number) => `the archiver's answer (HTTP ${status}) is not JSON`,
  status: (status: number) => `HTTP ${status}`,
  noStream: "the stream of bins is cut off, or is none",
  noBeginning: "a message of the stream of bins has no beginning",
  noHeader: "a message of the stream of bins has no header",
  streamCut: "the stream of bins is cut off",
  noEnd: "the stream of bins has no end",
  wrongType: (column: string) => `the column ${column} is of a type that bins have not`,
  compressed: "the stream of bins is compressed",
  otherColumns: "a batch of bins has not the columns of its schema",
  columnCut: (column: string) => `the column ${column} is cut off`,
  otherCount: (came: number, asked: number) => `${came} PVs came where ${asked} were asked for`,
  nobody: (reason: string) => `nobody answers for it at present: ${reason}`,
  unreadable: (reason: string) => `the archiver's answer cannot be read: ${reason}`,
  noColumn: (column: string) => `the bins have no column ${column}`,
} as const;
