// What the page says of values.

/** Values that are no numbers, and why there are none. */
export const valueWords = {
  elements: (count: number) => `${count} elements`,
  structure: "structure",
  causes: {
    never_connected: "not yet found on the network",
    disconnected: "connection to the IOC lost",
    paused: "archiving paused",
    archiver_stopped: "archiver not running",
    queue_full: "samples came faster than they could be taken",
    store_refused: "store refused to write",
    server_error: "IOC answered with an error",
    not_archived: "taken out of the archive for a while",
    disabled: "disabled by its groups",
    expired: "no longer kept",
    damaged: "its file is missing or damaged",
  } as Record<string, string>,
} as const;
