// What the page says of a cluster and its nodes.

/** The nodes that record together. */
export const clusterWords = {
  alone: "This archiver records alone: it is no node of a cluster.",
  owns: "Has",
  version: "Version",
  format: "Reads format",
  behind: "Waiting",
  refuses: "Takes no samples",
  detachedFor: "Detached for",
  pvs: "PVs",
  connectedOf: (connected: number, all: number) =>
    `${connected.toLocaleString("en")} of ${all.toLocaleString("en")} connected`,
  room: "Disk",
  free: (size: string) => `${size} free`,
  problems: "Problems",
  shardsOf: (own: number, all: number, hasSite: boolean, copies: number) =>
    `${own.toLocaleString("en")} of ${all.toLocaleString("en")} shards${copies > 0 ? `, ${copies.toLocaleString("en")} of their copies` : ""}${hasSite ? ", and the site" : ""}`,
  formats: (own: number, inForce: number) =>
    own === inForce ? String(own) : `${own}; in force is ${inForce}, until all read it`,
  waiting: (samples: number, changes: number) =>
    samples + changes === 0
      ? "nothing: all is in the shared store"
      : `${samples.toLocaleString("en")} samples, ${changes.toLocaleString("en")} changes on their way to the shared store`,
  stands: (state: "lives" | "leaves" | "silent" | "stopped", isHere: boolean) =>
    ({
      lives: `Answers.${isHere ? " You are here." : ""}`,
      leaves: `Answers, and hands over what it has.${isHere ? " You are here." : ""}`,
      silent:
        "Does not answer. Others take its shards; what it had recorded and not committed comes when it is back.",
      stopped: "Has ended, and gave up what it had.",
    })[state],
  verbs: { drain: "Drain …", join: "Join …", forget: "Forget …" },
  orders: {
    drain: (node: string, shards: number, others: number): [string, string, string] => [
      `Drain ${node}`,
      `${node} gives its ${shards.toLocaleString("en")} shards to the ${others === 1 ? "other node" : `${others} other nodes`}, one every few seconds, without a gap.`,
      "It goes on answering and records nothing any more. Stop it then, update it, start it: it takes its share again. “Join” takes this back.",
    ],
    join: (node: string): [string, string, string] => [
      `Join ${node}`,
      `${node} takes its share of the shards again, one every few seconds, without a gap.`,
      "Both nodes hear the IOCs of a shard for some seconds while it moves.",
    ],
    forget: (node: string): [string, string, string] => [
      `Forget ${node}`,
      `${node} is reckoned with no longer; nothing says any more that it is missing.`,
      "What it had recorded and not committed lies on its disk: started again with that, it joins and hands it over. Refused while it lives, or while a shard has no node.",
    ],
    move: (shard: number, from: string | null): [string, string, string] => [
      `Move shard ${shard}`,
      `The PVs of shard ${shard}, ${from === null ? "which no node has" : `which ${from} records`}, are recorded by the node below.`,
      "No gap: both nodes hear its IOCs for some seconds. The last second of the one that had it arrives a few seconds later.",
    ],
  },
  to: "To",
  what: "What",
  follows: "What follows",
  cancel: "Cancel",
  given: (title: string) => `${title}: begun.`,
  shard: (shard: number, copyOf: number | null, owner: string | null) =>
    `Shard ${shard}${copyOf === null ? "" : `, the copy of shard ${copyOf}`}: ${owner ?? "no node has it"}`,
  byOwner: (shards: number) => `${shards.toLocaleString("en")} shards by owner`,
  copiesByOwner: (copies: number) => `${copies.toLocaleString("en")} copies of shards by owner`,
  site: "the site",
  here: (node: string) => `What waits on ${node}`,
  hereHeads: ["Shard", "Epoch", "Rows committed", "Samples waiting", "Changes waiting", "Detached for"],
  detached: (shards: number, length: string) =>
    `The shared store has not answered for ${length}: ${shards} ${shards === 1 ? "shard is" : "shards are"} recorded on this node’s disk alone. All of it is shipped when the store answers.`,
  happened: "Orders to nodes",
  happenedHeads: ["Time", "Who", "What"],
  nothing: "None was given.",
} as const;
