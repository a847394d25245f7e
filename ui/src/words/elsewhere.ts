// What the page says where it leads elsewhere.

/** Other nodes, while the archiver of the page is away. */
export const elsewhereWords = {
  goOn: "The other nodes of the cluster have all PVs, and the same view:",
  at: (node: string) => `go on at ${node}`,
};
