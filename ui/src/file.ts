// Files that the page hands to the browser: what is downloaded, and how a field of a CSV is written.

import { h } from "./dom.ts";

/** A field of a CSV. A spreadsheet must not take a text for a formula. */
export function quoted(value: string | number): string {
  const text = typeof value === "string" && /^[=+\-@\t]/.test(value) ? `'${value}` : String(value);
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}

/** Hands the browser a file. */
export function download(name: string, type: string, content: BlobPart): void {
  const url = URL.createObjectURL(new Blob([content], { type }));
  const link = h("a", { href: url, download: name });
  link.click();
  // The browser reads it after the click.
  window.setTimeout(() => URL.revokeObjectURL(url), 10_000);
}
