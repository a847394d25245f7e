// Names that this browser keeps for whoever searches in it: PVs that were starred, and those that were plotted of late.

const STARRED = "pvark-starred";
const RECENT = "pvark-recent";
const STARRED_MAX = 100;
const RECENT_MAX = 12;

function kept(key: string): string[] {
  try {
    const names: unknown = JSON.parse(localStorage.getItem(key) ?? "[]");
    return Array.isArray(names) ? names.filter((name) => typeof name === "string") : [];
  } catch {
    // A browser may keep nothing for us, or what somebody else wrote there.
    return [];
  }
}

function keep(key: string, names: string[]): void {
  try {
    localStorage.setItem(key, JSON.stringify(names));
  } catch {
    // Then the next search begins without them.
  }
}

export function starred(): string[] {
  return kept(STARRED);
}

/** Stars a name, or takes its star away. */
export function turnStar(name: string): void {
  const names = starred();
  const others = names.filter((one) => one !== name);
  keep(STARRED, others.length < names.length ? others : [...others, name].slice(-STARRED_MAX));
}

/** The newest first. */
export function recent(): string[] {
  return kept(RECENT);
}

export function noteRecent(names: string[]): void {
  const newest = [...names].reverse();
  keep(RECENT, [...new Set([...newest, ...recent()])].slice(0, RECENT_MAX));
}
