// What the page says where a part of it has not come.

/** What of the page comes when it is wanted, and has not come. */
export const laterWords = {
  why: {
    silent: "This part of the page has not come: the archiver does not answer.",
    renewed: "The archiver is another version by now, and this part of the page has not come with it.",
    lacking: "This part of the page has not come, though the archiver answers.",
  },
  silentThen: (seconds: number) => `It is asked for again every ${seconds} s.`,
  anew: "Trying again loads the page anew. Its address keeps what is shown.",
  again: "Try again",
} as const;
