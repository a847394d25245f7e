// Where the same view stands while the archiver of this page is away: on the pages of the other nodes of its cluster, which answer for
// all PVs.

import { ApiError, get, type Status } from "./api.ts";
import { h } from "./dom.ts";
import { elsewhereWords as words } from "./words/elsewhere.ts";

/** The nodes are asked for this often, and sooner while not all of them have said anything of themselves. */
const ASK_MILLIS = 60_000;

interface Nodes {
  /** The one that was asked. */
  node: string;
  nodes: { name: string; state: string; figures: { page: string | null } | null }[];
}

interface OtherPage {
  node: string;
  url: URL;
}

export class Elsewhere {
  private pages: OtherPage[] = [];
  private askedAt = -Infinity;

  constructor(private bar: HTMLElement) {}

  /** The archiver has answered: it knows where the others are. */
  take(status: Status): void {
    this.bar.hidden = true;
    if (!status.clustered) this.pages = [];
    else if (performance.now() - this.askedAt >= ASK_MILLIS) void this.ask();
  }

  /** The archiver does not answer. */
  show(): void {
    if (this.pages.length === 0) return;
    const links = this.pages.flatMap(({ node, url }, i) => {
      const link = h("a", { href: viewAt(url), "data-node": node }, words.at(node));
      // The view may change before it is followed, with whichever button.
      for (const press of ["pointerdown", "click"])
        link.addEventListener(press, () => (link.href = viewAt(url)));
      return i === 0 ? [link] : [" · ", link];
    });
    this.bar.replaceChildren(words.goOn, " ", ...links);
    this.bar.hidden = false;
  }

  private async ask(): Promise<void> {
    this.askedAt = performance.now();
    try {
      const { node, nodes } = await get<Nodes>("/cluster");
      const others = nodes.filter(({ name, state }) => name !== node && state === "lives");
      if (others.some(({ figures }) => figures === null)) this.askedAt = -Infinity;
      this.pages = others.flatMap(({ name, figures }) => {
        const url = figures?.page && URL.canParse(figures.page) ? new URL(figures.page) : null;
        return url && /^https?:$/.test(url.protocol) ? [{ node: name, url }] : [];
      });
    } catch (error) {
      // Somebody who may not see the nodes is not led to them.
      if (!(error instanceof ApiError)) throw error;
    }
  }
}

/** What is shown here, on another page. */
function viewAt(page: URL): string {
  const here = new URL("./", location.href).href;
  return page.href + location.href.slice(here.length);
}
