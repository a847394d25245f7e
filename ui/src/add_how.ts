// How PVs of a list would be archived: by which policy how many of them, and what that takes a day, as PVs of the same policy do today.

import { sortedPvs, type NamedPv, type Policy } from "./api.ts";
import { bytesText } from "./bytes.ts";
import { counted, h } from "./dom.ts";
import { table } from "./manage_parts.ts";
import { addWords as words } from "./words/add.ts";
import { manageWords } from "./words/manage.ts";
import { settingsText } from "./words/policy.ts";

/** Of each kind so many names are told. */
const NAMES_TOLD = 3;
/** So many PVs of a policy say what one of them takes. */
const LIKE_THESE = 200;
/** Of more kinds it is not asked. */
const KINDS_ASKED = 20;

/** PVs that would be archived in the same way. */
interface Kind {
  policy: string | null;
  /** The period that the list gives. */
  scan: number | null;
  names: string[];
}

/** What all take a day together, and how many PVs that leaves out. */
export interface Taken {
  bytes: string;
  lacking: number;
}

export interface How {
  element: HTMLElement;
  /** None where nothing is known of any. */
  bytes: Promise<Taken | null>;
}

/** Figures come into the table as the archiver has counted. */
export function howTable(fresh: NamedPv[], policies: Policy[]): How {
  const kinds = kindsOf(fresh);
  const cells = kinds.map(() => [h("td", { class: "num" }, "…"), h("td", { class: "num" }, "…")] as const);
  const rows = kinds.map((kind, i) => {
    const policy = policies.find(({ name }) => name === kind.policy);
    const told = kind.names.slice(0, NAMES_TOLD).join(", ");
    const [title, fits, taken] =
      kind.scan !== null
        ? [words.given, words.scanOf(kind.scan), words.newestOf(kind.scan)]
        : kind.policy === null
          ? [words.noPolicy, words.noneFits, manageWords.everyChange]
          : [kind.policy, policy?.match.join(", ") ?? "", policy ? settingsText(policy.settings) : ""];
    return h(
      "tr",
      {},
      h(
        "th",
        { scope: "row" },
        title,
        h("small", { class: "faint" }, kind.names.length > NAMES_TOLD ? `${told} …` : told),
      ),
      h("td", {}, h("code", {}, fits)),
      h("td", { class: "num" }, counted(kind.names.length)),
      cells[i]![0],
      h("td", { class: "faint" }, taken),
      cells[i]![1],
    );
  });
  const element = h(
    "div",
    { class: "how-list" },
    table(words.howHeads, rows, words.howHead),
    h("p", { class: "faint" }, words.ratesAre),
  );
  return { element, bytes: tell(kinds, cells) };
}

function kindsOf(fresh: NamedPv[]): Kind[] {
  const kinds = new Map<string, Kind>();
  for (const { name, policy, pv } of fresh) {
    const scan = pv?.method === "scan" ? (pv.period ?? 1) : null;
    const key = JSON.stringify([scan === null ? policy : null, scan]);
    const kind = kinds.get(key) ?? { policy: scan === null ? policy : null, scan, names: [] };
    kind.names.push(name);
    kinds.set(key, kind);
  }
  return [...kinds.values()].sort((a, b) => b.names.length - a.names.length);
}

/** Updates a second and bytes a day of one PV, as PVs of a policy have them; null where the archiver knows of none. */
async function likeThese(policy: string | null): Promise<{ rate: number; bytes: number } | null> {
  const { pvs } = await sortedPvs({
    ...{ match: "", state: "any", narrow: { policy: policy ?? "-" } },
    ...{ by: "name", order: "asc", offset: 0, limit: LIKE_THESE },
  });
  const known = pvs.filter(({ rate, bytes_per_day: bytes }) => rate != null && bytes != null);
  if (known.length === 0) return null;
  const mean = (of: (pv: (typeof known)[number]) => number) =>
    known.reduce((sum, pv) => sum + of(pv), 0) / known.length;
  return { rate: mean(({ rate }) => rate!), bytes: mean(({ bytes_per_day: bytes }) => bytes!) };
}

/** One kind after the other; whoever looks at the table need not wait for it. */
async function tell(kinds: Kind[], cells: (readonly [HTMLElement, HTMLElement])[]): Promise<Taken | null> {
  let [sum, lacking] = [0, 0];
  for (const [i, { policy, scan, names }] of kinds.entries()) {
    const like = i < KINDS_ASKED ? await likeThese(policy).catch(() => null) : null;
    const rate = scan === null ? (like?.rate ?? null) : 1 / scan;
    // A sample takes as much however often one comes.
    const bytes = like === null ? null : scan === null ? like.bytes : like.bytes / (like.rate * scan);
    cells[i]![0].textContent =
      rate === null ? "–" : manageWords.hertz(Number(rate.toPrecision(2)).toString());
    const all = bytes === null || !Number.isFinite(bytes) ? null : bytes * names.length;
    cells[i]![1].textContent = all === null ? "–" : bytesText(all);
    if (all === null) lacking += names.length;
    else sum += all;
  }
  return sum === 0 ? null : { bytes: bytesText(sum), lacking };
}
