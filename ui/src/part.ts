// Which part of the page an address shows: the plot, a snapshot, the search for times, or what whoever runs the archiver needs.

export type PartName = "plot" | "snapshot" | "when" | "manage";

/** The part of a path and a query: the manage page has a path of its own, the others say it in the query. */
export function partOf(path: string, query: string): PartName {
  if (path.endsWith("/manage")) return "manage";
  const part = new URLSearchParams(query).get("part");
  return part === "snapshot" || part === "when" ? part : "plot";
}

/** The part that is shown. */
export function shownPart(): PartName {
  return partOf(location.pathname, location.search);
}

/** Writes what a part shows into the address; zone and theme stay, what is empty is left out. */
export function rememberPart(pairs: [string, string][]): void {
  const kept = new URLSearchParams(location.search);
  const parts = [
    `part=${shownPart()}`,
    ...pairs.filter(([, value]) => value !== "").map(([key, value]) => `${key}=${written(value)}`),
    ...["theme", "zone"].flatMap((key) => (kept.has(key) ? [`${key}=${kept.get(key)}`] : [])),
  ];
  history.replaceState(history.state, "", `${location.pathname}?${parts.join("&")}`);
}

/** What the address says; a + stands for itself, as names and times have it. */
export function partParams(): URLSearchParams {
  return new URLSearchParams(location.search.replaceAll("+", "%2B"));
}

function written(value: string): string {
  return encodeURIComponent(value).replace(/%3A/g, ":").replace(/%2F/g, "/");
}
