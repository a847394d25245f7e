// What the page says where one PV is archived.

/** The dialog that adds PVs, and how far they are. */
export const archiveWords = {
  noName: "Name at least one PV.",
  wrongPeriod: "The period must be a number of seconds above 0.",
  asking: (pvs: string) => `Asking the archiver for ${pvs} PVs …`,
  plotThem: "Plot them",
  isConnected: "is connected and archived",
  firsts: "PVs with a first value",
  allFirst: (pvs: string) => `All ${pvs} have a first value.`,
  someFirst: (there: string, pvs: string) => `${there} of ${pvs} have a first value`,
  waiting: (there: string, count: string, names: string) => `${there}, ${count} wait for an IOC${names}`,
  became: {
    added: "is asked for; waits for an IOC",
    already_archived: "was being archived already",
    changed: "is being archived another way now",
    refused: "was refused",
  },
  /** The same of many, behind their number. */
  becameMany: {
    added: "are asked for",
    already_archived: "were being archived already",
    changed: "are being archived another way now",
    refused: "were refused",
  },
} as const;
