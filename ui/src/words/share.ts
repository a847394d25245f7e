// What the page says where a view is shared or saved.

/** Share and export. */
export const shareWords = {
  title: "Share and export",
  link: "Link",
  fixed: "to this range",
  live: "that follows now",
  copyLink: "Copy the link",
  copied: "Copied.",
  notCopied: "This browser does not let a page copy here; the text is marked.",
  asCode: "As a program",
  kinds: { python: "Python", curl: "curl", plt: "Phoebus .plt" },
  copy: (kind: string) => `Copy as ${kind}`,
  download: "Picture",
  png: "PNG of the plot",
  svg: "SVG",
  samples: (count: number, isLeast: boolean) =>
    `${isLeast ? "At least " : "About "}${count.toLocaleString("en")} samples are in sight.`,
  nothing: "Nothing is plotted: there is nothing to share but this page.",
  embed: "Within another page",
} as const;
