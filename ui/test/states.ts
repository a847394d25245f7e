// The states in which an operator sees the page: how to bring it there. Pictures are made of them, and axe looks at each.

import type { Page } from "playwright-core";
import { loaded } from "./loaded.ts";
import { mixedPvs, structurePvs } from "./pvs.ts";
import { ringPvs, vacuumPvs } from "./ring.ts";
import { somebody, threeNodes, type TestServer } from "./server.ts";

const CALM = "from=2026-11-20T10:00:00Z&to=2026-11-20T10:20:00Z&zone=utc";
const HOUR = "from=2026-11-20T10:00:00Z&to=2026-11-20T11:00:00Z&zone=utc";
const GAP = "from=2026-11-20T10:44:50Z&to=2026-11-20T10:49:00Z&zone=utc";

export interface State {
  /** What the picture's file is called. */
  name: string;
  width: number;
  height: number;
  /** Only in this theme is there a picture of it. */
  theme: "light" | "dark";
  show(page: Page, server: TestServer, base: string): Promise<void>;
}

/** So long a picture waits in which one is to see for how long something lasts. */
const rest = { millis: 0 };

/** For pictures; who only looks whether something is wrong need not wait. */
export function takeTime(): void {
  rest.millis = 9000;
}

const DESK = { width: 1400, height: 850 };

const FEW = "pv=SR:CURRENT&pv=SR:LIFETIME&pv=LAB:SETPOINT&pv=SR:MODE&pv=SR:MESSAGE";

export const STATES: State[] = [
  {
    name: "plot-light",
    ...DESK,
    theme: "light",
    show: (page, _, base) => open(page, `${base}?${FEW}&${HOUR}`),
  },
  {
    name: "plot-dark",
    ...DESK,
    theme: "dark",
    show: (page, _, base) => open(page, `${base}?${FEW}&${HOUR}`),
  },
  { name: "twenty", ...DESK, theme: "light", show: (page, server, base) => twenty(page, server, base) },
  { name: "stacked", ...DESK, theme: "light", show: (page, server, base) => stacked(page, server, base) },
  {
    ...{ name: "stacked-phone", width: 390, height: 844, theme: "dark" },
    show: (page, server, base) => stacked(page, server, base),
  },
  { name: "gap", ...DESK, theme: "dark", show: (page, _, base) => gap(page, base) },
  { name: "why", ...DESK, theme: "light", show: (page, _, base) => why(page, base) },
  { name: "times", ...DESK, theme: "light", show: (page, _, base) => times(page, base) },
  { name: "add", ...DESK, theme: "light", show: (page, server, base) => add(page, server, base) },
  { name: "archiver-gone", ...DESK, theme: "dark", show: (page, server, base) => gone(page, server, base) },
  { name: "fares", ...DESK, theme: "light", show: (page, _, base) => fares(page, base) },
  { name: "find", ...DESK, theme: "light", show: (page, server, base) => find(page, server, base) },
  {
    ...{ name: "find-phone", width: 390, height: 844, theme: "dark" },
    show: (page, _, base) => findByTouch(page, base),
  },
  {
    ...{ name: "find-words-phone", width: 390, height: 844, theme: "light" },
    show: (page, server, base) => findWordsByTouch(page, server, base),
  },
  {
    ...{ name: "find-nothing", ...DESK, theme: "dark" },
    show: async (page, _, base) => {
      await open(page, `${base}?pv=SR:CURRENT&${HOUR}`);
      await page.keyboard.press("/");
      await page.keyboard.type("lab:temq1");
      await page.locator("#found .found-head").getByText("Did you mean").waitFor();
    },
  },
  {
    ...{ name: "tree", ...DESK, theme: "light" },
    show: (page, _, base) => tree(page, base),
  },
  {
    ...{ name: "tree-phone", width: 390, height: 844, theme: "dark" },
    show: (page, _, base) => tree(page, base),
  },
  {
    ...{ name: "remarks", ...DESK, theme: "light" },
    show: async (page, server, base) => {
      server.ahead = 41;
      await open(page, `${base}?pv=SR:CURRENT&zone=utc&from=2026-11-20T10:00:00Z&to=2026-13-20`);
      await page.locator("#remarks .notice").nth(1).waitFor();
    },
  },
  {
    ...{ name: "embed", ...DESK, theme: "dark" },
    show: (page, _, base) => open(page, `${base}?${FEW}&${HOUR}&embed=1`),
  },
  { name: "empty", ...DESK, theme: "light", show: (page, _, base) => empty(page, base) },
  { name: "waveform", ...DESK, theme: "light", show: (page, _, base) => waveform(page, base) },
  { name: "login", ...DESK, theme: "light", show: (page, server, base) => login(page, server, base) },
  { name: "login-wrong", ...DESK, theme: "dark", show: (page, server, base) => wrong(page, server, base) },
  { name: "who", ...DESK, theme: "light", show: (page, server, base) => who(page, server, base) },
  { name: "session-over", ...DESK, theme: "dark", show: (page, server, base) => over(page, server, base) },
  {
    ...{ name: "menu", ...DESK, theme: "light" },
    show: async (page, _, base) => {
      await open(page, `${base}?${FEW}&${HOUR}`);
      const box = (await page.locator("#plot .over").boundingBox())!;
      await page.mouse.click(box.x + box.width * 0.4, box.y + 300, { button: "right" });
      await page.locator('.menu [role="menu"]').waitFor();
    },
  },
  {
    ...{ name: "menu-row", ...DESK, theme: "dark" },
    show: async (page, _, base) => {
      await open(page, `${base}?${FEW}&${HOUR}`);
      await page.locator('#legend [data-pv="SR:CURRENT"] .name').focus();
      await page.keyboard.press("m");
      await page.getByRole("menuitem", { name: "Line" }).click();
    },
  },
  {
    ...{ name: "menu-gap", width: 390, height: 844, theme: "dark" },
    show: async (page, _, base) => {
      await open(page, `${base}?pv=SR:CURRENT&${GAP}`);
      const box = (await page.locator("#plot .over").boundingBox())!;
      await page.mouse.click(box.x + box.width * 0.4, box.y + 80, { button: "right" });
      await page.getByRole("menuitem", { name: "Gap of" }).click();
    },
  },
  { name: "settings", ...DESK, theme: "light", show: (page, _, base) => settings(page, base) },
  {
    ...{ name: "notes", ...DESK, theme: "light" },
    show: async (page, server, base) => {
      noted(server);
      await open(page, `${base}?${FEW}&${HOUR}&at=2026-11-20T10:33:00Z`);
      await page.locator(".note-flag").first().waitFor();
    },
  },
  {
    ...{ name: "note", ...DESK, theme: "dark" },
    show: async (page, server, base) => {
      noted(server);
      await open(page, `${base}?${FEW}&${HOUR}`);
      await page.locator(".note-flag").first().click();
      await page.locator("#note[open]").waitFor();
      await page.getByRole("button", { name: "Change" }).click();
    },
  },
  {
    ...{ name: "views", ...DESK, theme: "light" },
    show: async (page, server, base) => {
      noted(server);
      await open(page, `${base}?${FEW}&${HOUR}`);
      await page.locator("#more").click();
      await page.locator("#more-views").click();
      await page.locator("#views summary").first().waitFor();
    },
  },
  {
    ...{ name: "formula", ...DESK, theme: "light" },
    show: async (page, _, base) => {
      const formula = encodeURIComponent("= LAB:TEMP1 - LAB:TEMP2");
      const rows = `pv=LAB:TEMP1&pv=LAB:TEMP1%20@-1d&pv=${formula}`;
      await open(page, `${base}?${rows}&${HOUR}&at=2026-11-20T10:10:00Z&b=2026-11-20T10:40:00Z`);
      await page.locator("#between li").nth(2).getByText("integral").waitFor();
    },
  },
  {
    ...{ name: "formula-refused", ...DESK, theme: "dark" },
    show: async (page, _, base) => {
      await open(page, `${base}?pv=LAB:TEMP1&${HOUR}`);
      await page.keyboard.press("/");
      await page.keyboard.type("LAB:TEMP1 - SR:CURRENT");
      await page.locator(".refused-formula").waitFor();
    },
  },
  {
    ...{ name: "drawer-xy", ...DESK, theme: "light" },
    show: (page, _, base) => drawer(page, `${base}?pv=SR:CURRENT&pv=SR:LIFETIME&${HOUR}&drawer=xy`),
  },
  {
    ...{ name: "drawer-histogram", ...DESK, theme: "dark" },
    show: (page, _, base) => drawer(page, `${base}?pv=LAB:TEMP1&${HOUR}&drawer=histogram`),
  },
  {
    ...{ name: "drawer-fft", ...DESK, theme: "dark" },
    show: (page, _, base) => drawer(page, `${base}?pv=SR:LIFETIME&${CALM}&drawer=fft`),
  },
  {
    ...{ name: "drawer-refused", ...DESK, theme: "light" },
    show: async (page, server, base) => {
      server.isUneven = true;
      await open(page, `${base}?pv=LAB:TEMP1&${CALM}&drawer=fft`);
      await page.locator(".drawer-empty").getByText("not even").waitFor();
    },
  },
  {
    ...{ name: "drawer-samples", ...DESK, theme: "light" },
    show: async (page, _, base) => {
      await samples(page, `${base}?pv=LAB:TEMP1&pv=SR:MODE&${GAP}&drawer=samples`);
      await page.locator(".samples-grid").focus();
      for (let i = 0; i < 3; i++) await page.keyboard.press("ArrowDown");
      for (let i = 0; i < 4; i++) await page.keyboard.press("Shift+ArrowDown");
      await page.locator("#analysis .pointed").getByText("5 rows are marked.").waitFor();
    },
  },
  {
    ...{ name: "drawer-samples-over", ...DESK, theme: "dark" },
    show: (page, _, base) => samples(page, `${base}?pv=LAB:TEMP1&pv=LAB:TEMP1%20@-1d&${HOUR}&drawer=samples`),
  },
  {
    ...{ name: "drawer-samples-phone", width: 390, height: 844, theme: "dark" },
    show: (page, _, base) => samples(page, `${base}?pv=LAB:TEMP1&pv=LAB:TEMP2&${HOUR}&drawer=samples`),
  },
  {
    ...{ name: "absence", ...DESK, theme: "light" },
    show: async (page, _, base) => {
      await page.route("**/assets/drawer-*", (route) => route.abort());
      await open(page, `${base}?pv=LAB:TEMP1&${CALM}&drawer=xy`);
      await page.locator(".absence").waitFor();
    },
  },
  {
    ...{ name: "drawer-phone", width: 390, height: 844, theme: "light" },
    show: (page, _, base) => drawer(page, `${base}?pv=SR:CURRENT&pv=SR:LIFETIME&${HOUR}&drawer=xy`),
  },
  { name: "share", ...DESK, theme: "light", show: (page, server, base) => share(page, server, base) },
  { name: "manage", ...DESK, theme: "light", show: (page, _, base) => managed(page, base) },
  {
    ...{ name: "manage-missing", ...DESK, theme: "dark" },
    show: async (page, server, base) => {
      server.missing = [{ part: "shard 3 of the cluster", names: 2, why: "no node has it" }];
      server.unanswered = new Set(["LAB:TEMP1", "LAB:TEMP2"]);
      await page.goto(`${base}manage`);
      await page.locator(".table-side .missing").getByText("2 PVs are listed").waitFor();
    },
  },
  { name: "manage-remove", ...DESK, theme: "dark", show: (page, _, base) => removal(page, base) },
  { name: "manage-add", ...DESK, theme: "light", show: (page, _, base) => check(page, base) },
  {
    ...{ name: "manage-add-phone", width: 390, height: 844, theme: "dark" },
    show: (page, _, base) => check(page, base),
  },
  {
    ...{ name: "manage-reports", ...DESK, theme: "light" },
    show: (page, _, base) =>
      part(page, `${base}manage?part=reports&report=getCurrentlyDisconnectedPVs`, "LAB:OFFLINE"),
  },
  {
    ...{ name: "manage-policies", ...DESK, theme: "light" },
    show: (page, _, base) => part(page, `${base}manage?part=policies`, "as it would be"),
  },
  {
    ...{ name: "manage-policies-phone", width: 390, height: 844, theme: "dark" },
    show: (page, _, base) => part(page, `${base}manage?part=policies`, "as it would be"),
  },
  {
    ...{ name: "manage-storage", ...DESK, theme: "light" },
    show: (page, _, base) => part(page, `${base}manage?part=storage`, "2026-W47"),
  },
  {
    ...{ name: "manage-audit", ...DESK, theme: "light" },
    show: (page, _, base) => part(page, `${base}manage?part=audit`, "oidc:ana"),
  },
  {
    ...{ name: "manage-cluster", ...DESK, theme: "dark" },
    show: async (page, server, base) => {
      server.cluster = threeNodes();
      await part(page, `${base}manage?part=cluster`, "32 shards by owner");
      await page.getByText("Orders to nodes").waitFor();
    },
  },
  {
    ...{ name: "manage-undo", ...DESK, theme: "light" },
    show: async (page, _, base) => {
      await removal(page, base);
      await page.getByRole("button", { name: "Remove 2 PVs" }).click();
      await page.locator(".said-bar").getByText("Can be undone until").waitFor();
      await page.locator('[data-tab="undo"]').click();
      await page.locator("[data-order]").first().waitFor();
    },
  },
  {
    ...{ name: "manage-iocs", ...DESK, theme: "dark" },
    show: (page, server, base) => iocs(page, server, base),
  },
  {
    ...{ name: "snapshot", ...DESK, theme: "light" },
    show: async (page, server, base) => {
      const lists = { query: "pv=LAB:TEMP1", pvs: ["LAB:TEMP1", "LAB:TEMP2"] };
      server.views.write({ name: "lab/temperatures", ...lists }, "oidc:ana");
      const moments = "a=2026-11-20T10:33:01.500Z&b=2026-11-20T09:00:00Z";
      await page.goto(`${base}?part=snapshot&match=*&${moments}&zone=utc&tol=0`);
      await page.locator("#snapshot .score-bar").first().waitFor();
    },
  },
  {
    ...{ name: "find-when", ...DESK, theme: "light" },
    show: async (page, _, base) => {
      const condition = encodeURIComponent("LAB:TEMP1 > 23.3 while SR:MODE = 3");
      await page.goto(`${base}?part=when&q=${condition}&${HOUR}`);
      await page.locator("#when .told").getByText("hatched").waitFor();
    },
  },
  {
    ...{ name: "found-marks", ...DESK, theme: "light" },
    show: async (page, _, base) => {
      const condition = encodeURIComponent("LAB:TEMP1 > 23.3 while SR:MODE = 3");
      const cursors = "at=2026-11-20T10:18:00Z&b=2026-11-20T10:29:14Z";
      await open(page, `${base}?pv=LAB:TEMP1&pv=SR:MODE&${HOUR}&${cursors}&found=${condition}`);
      await page
        .locator("#overview-strip")
        .getByText(/blue: LAB:TEMP1 .* times/)
        .waitFor();
    },
  },
  {
    ...{ name: "wall", width: 3840, height: 2160, theme: "dark" },
    show: (page, _, base) => wall(page, base),
  },
  {
    ...{ name: "wall-trip", width: 3840, height: 2160, theme: "dark" },
    show: (page, server, base) => wallTrip(page, server, base),
  },
  { name: "heat", ...DESK, theme: "light", show: (page, _, base) => heat(page, base) },
  { name: "table", ...DESK, theme: "light", show: (page, server, base) => table(page, server, base) },
  {
    ...{ name: "table-phone", width: 390, height: 844, theme: "dark" },
    show: (page, server, base) => table(page, server, base),
  },
  {
    ...{ name: "image", ...DESK, theme: "dark" },
    show: (page, server, base) => structures(page, server, `${base}?pv=SR:CURRENT&pv=CAM:BEAM&${TEN}`),
  },
  {
    ...{ name: "image-phone", width: 390, height: 844, theme: "light" },
    show: (page, server, base) => structures(page, server, `${base}?pv=CAM:BEAM&${TEN}`),
  },
  {
    ...{ name: "images", ...DESK, theme: "light" },
    show: (page, server, base) =>
      structures(page, server, `${base}?pv=CAM:COLOUR&pv=CAM:PACKED&pv=BPM:WAVE&${TEN}`),
  },
  {
    ...{ name: "phone", width: 360, height: 740, theme: "light" },
    show: (page, _, base) => open(page, `${base}?pv=SR:CURRENT&pv=LAB:TEMP1&pv=SR:MODE&${HOUR}`),
  },
];

/** A day of 20 PVs in five panes and two bands, with both cursors. */
async function stacked(page: Page, server: TestServer, base: string): Promise<void> {
  const pvs = ringPvs(Date.parse("2026-11-19T00:00:00Z") / 1000);
  server.pvs.push(...pvs);
  const span = "from=2026-11-19T00:00:00Z&to=2026-11-20T00:00:00Z&zone=utc";
  const cursors = "at=2026-11-19T09:12:00Z&b=2026-11-19T15:00:23.700Z";
  const names = pvs.map(({ name }) => `pv=${encodeURIComponent(name)}`).join("&");
  await open(page, `${base}?${names}&${span}&${cursors}&log=mbar`);
}

/** On a phone, by words, with two that are to be plotted. */
async function findWordsByTouch(page: Page, server: TestServer, base: string): Promise<void> {
  server.pvs.push(...vacuumPvs(Math.floor(Date.now() / 1000) - 107));
  await open(page, `${base}?pv=SR:CURRENT&${HOUR}`);
  await page.locator("#tab-find").click();
  await page.keyboard.type("va 12");
  await page.locator('#found[data-match="va 12"] [data-pv]').first().waitFor();
  for (const name of ["SR-VA-IP12:P", "SR-VA-GV12:STATE"])
    await page.locator(`#found [data-pv="${name}"] .tick`).click();
}

/** The names as a tree, a branch of it open, with marks. */
async function tree(page: Page, base: string): Promise<void> {
  await open(page, `${base}?pv=SR:CURRENT&${HOUR}`);
  await page.locator("#more").click();
  await page.locator("#more-tree").click();
  await page.locator('#name-tree [data-name="LAB:"] .pv').first().click();
  await page.locator('#name-tree [data-name="LAB:TEMP1"]').click();
  await page.keyboard.press("Shift+ArrowDown");
  await page.locator("#name-tree .actions").getByText("2 PVs marked.").waitFor();
}

/** An IOC is lost, and another came back. */
async function iocs(page: Page, server: TestServer, base: string): Promise<void> {
  server.restarted = ["LAB:TEMP1", "LAB:TEMP2"];
  await page.goto(`${base}manage?part=iocs`);
  await page.locator("#outage").getByText("1 PV is not recorded").waitFor();
  await page.locator(".ioc-side .happened li").first().waitFor();
  await page.getByText("Came back in this run").waitFor();
}

async function wall(page: Page, base: string): Promise<void> {
  const pvs = "pv=SR:CURRENT&pv=SR:LIFETIME&pv=LAB:TEMP1&pv=LAB:OFFLINE&pv=SR:MODE";
  await page.goto(`${base}?${pvs}&wall=1&zone=utc`);
  await page.waitForFunction(() => document.querySelectorAll(".wall-value").length >= 4);
  await page.locator(".wall-sentence").getByText("not recorded since").waitFor();
}

/** The beam was lost, and with it an IOC. */
async function wallTrip(page: Page, server: TestServer, base: string): Promise<void> {
  const now = Math.floor(Date.now() / 1000);
  const pvs = ringPvs(now - 107 - 18 * 3600 - 50 * 60);
  const pump = pvs.find(({ name }) => name === "SR-VA-IP12:P")!;
  const gap = { from: now - 73, to: null, cause: "disconnected", lost: 0, scope: "pv" as const };
  server.pvs = pvs.map((pv) => (pv === pump ? { ...pv, state: "disconnected", gaps: [gap] } : pv));
  const names = ["DI-DCCT:I", "RF-CAV1:FWD", "RF-CAV2:FWD", "VA-IP12:P", "DI-BPM07:X", "DI-BPM31:X"];
  const view = names.map((name) => `pv=SR-${name}`).join("&");
  await page.goto(`${base}?${view}&log=mbar&wall=1&zone=utc`);
  await page.locator(".wall-sentence").getByText("not recorded since").waitFor();
  await page.waitForFunction(() => document.querySelectorAll(".wall-value").length >= 5);
}

const TEN = `${HOUR}&at=2026-11-20T10:10:00Z`;

/** Tables and images. */
async function structures(page: Page, server: TestServer, url: string): Promise<void> {
  server.pvs.push(...structurePvs());
  await open(page, url);
  const unfold = page.locator(".unfold:visible");
  if ((await unfold.count()) > 0) await unfold.first().click();
  await page.locator(".nt-image canvas:visible, .nt-table tbody tr").first().waitFor();
}

async function table(page: Page, server: TestServer, base: string): Promise<void> {
  await structures(page, server, `${base}?pv=SR:ORBIT&${TEN}`);
  await page.getByLabel("Column", { exact: true }).selectOption({ label: "X" });
  await page.getByLabel("against").selectOption({ label: "Position" });
}

/** A waveform over an hour. */
async function heat(page: Page, base: string): Promise<void> {
  await open(page, `${base}?pv=BPM:WAVE&${HOUR}&at=2026-11-20T10:10:00Z`);
  await page.getByRole("button", { name: "Over time" }).click();
  await page.getByText("None is left out.").waitFor();
}

/** Somebody has written notes and saved views. */
function noted(server: TestServer): void {
  const from = "2026-11-20T10:12:30Z";
  server.notes.write({ text: "Trip, RF 2\nklystron changed", from }, "oidc:ana");
  const [begin, to] = ["2026-11-20T10:38:00Z", "2026-11-20T10:46:00Z"];
  server.notes.write({ text: "Pump 12 replaced", pvs: ["SR:CURRENT"], from: begin, to }, "oidc:bo");
  for (const [name, text] of [
    ["vacuum/sector 12", "pumps and gauges"],
    ["vacuum/sector 13", ""],
    ["operation/injection", "current, lifetime and mode"],
    ["lab", ""],
  ])
    server.views.write(
      { name, text, query: `${FEW}&live=3600`, pvs: ["SR:CURRENT", "LAB:TEMP1"] },
      "oidc:ana",
    );
}

/** Opens a view and waits until everything in it is drawn. */
async function open(page: Page, url: string): Promise<void> {
  await page.goto(url);
  await loaded(page);
  await page.evaluate(async () => {
    for (let i = 0; i < 3; i++) await new Promise(requestAnimationFrame);
  });
}

async function twenty(page: Page, server: TestServer, base: string): Promise<void> {
  const pvs = mixedPvs(20);
  const names = new Set(server.pvs.map((pv) => pv.name));
  server.pvs.push(...pvs.filter((pv) => !names.has(pv.name)));
  await open(page, `${base}?${pvs.map((pv) => `pv=${encodeURIComponent(pv.name)}`).join("&")}&${HOUR}`);
}

async function gap(page: Page, base: string): Promise<void> {
  await open(page, `${base}?pv=SR:CURRENT&pv=SR:LIFETIME&${HOUR}`);
  const box = (await page.locator("#plot .over").boundingBox())!;
  await page.mouse.move(box.x + box.width * 0.4, box.y + box.height / 2);
  await page.locator("#hint").getByText("connection to the IOC lost").waitFor();
}

async function why(page: Page, base: string): Promise<void> {
  await open(page, `${base}?pv=SR:CURRENT&pv=SR:LIFETIME&${HOUR}`);
  await page.locator('#legend [data-pv="SR:CURRENT"] .why').click();
  await page.locator("#why li").first().waitFor();
}

async function times(page: Page, base: string): Promise<void> {
  await open(page, `${base}?pv=SR:CURRENT&${HOUR}`);
  await page.fill("#to", "2026-11-20 09:30");
  await page.keyboard.press("Enter");
  await page.locator("#swap").waitFor();
}

async function add(page: Page, server: TestServer, base: string): Promise<void> {
  await open(page, `${base}?pv=SR:CURRENT&${HOUR}`);
  server.addedState = "searching";
  const names = Array.from({ length: 60 }, (_, i) => `SR-C${10 + i}-MG:PS:CURRENT`);
  [names[7], names[20], names[41]] = ["http://SR-C17-MG", `SR-C30-${"X".repeat(60)}`, "pva://"];
  await page.locator("#more").click();
  await page.locator("#archive").click();
  await page.fill("#add-names", names.join("\n"));
  await page.locator("#add-form button[type=submit]").click();
  const added = () => server.pvs.filter((pv) => pv.name.includes("-MG:PS:"));
  await page.getByText("0 of 57 have a first value").waitFor();
  for (const pv of added().slice(0, 51)) pv.state = "connected";
  await page.getByText("51 of 57 have a first value").waitFor();
}

async function gone(page: Page, server: TestServer, base: string): Promise<void> {
  await open(page, `${base}?pv=SR:CURRENT&pv=LAB:TEMP1&live=60&zone=utc`);
  await page.waitForTimeout(1000);
  server.down = true;
  server.dropStreams();
  await page.getByText("No archiver since").waitFor();
  await page.waitForTimeout(rest.millis);
}

async function fares(page: Page, base: string): Promise<void> {
  await open(page, `${base}?pv=SR:CURRENT&${HOUR}`);
  await page.locator("#chip").click();
  await page
    .locator("#overview[open]")
    .getByText(/now \d+ a second/)
    .waitFor();
}

async function find(page: Page, server: TestServer, base: string): Promise<void> {
  server.views.write({ name: "lab/temperatures", query: "pv=LAB:TEMP1", pvs: ["LAB:TEMP1"] }, "oidc:ana");
  server.notes.write({ text: "Lab cooled down", from: "2026-11-20T10:30:00Z" }, "oidc:bo");
  await open(page, `${base}?pv=SR:CURRENT&${HOUR}`);
  await page.keyboard.press("/");
  await page.keyboard.type("lab");
  // Of the whole list, which comes before anything is typed, nothing is chosen yet.
  await page.locator('#found[data-match="lab"] .found-head').waitFor();
  await page.keyboard.press("Control+Enter");
  for (let i = 0; i < 4; i++) await page.keyboard.press("ArrowDown");
  for (let i = 0; i < 2; i++) await page.keyboard.press("Shift+ArrowDown");
  await page.locator("#found .found-count").getByText("4 marked").waitFor();
}

/** On a phone, with a star and one plotted of late. */
async function findByTouch(page: Page, base: string): Promise<void> {
  await open(page, `${base}?pv=SR:CURRENT&${HOUR}`);
  await page.evaluate(() => {
    localStorage.setItem("pvark-starred", JSON.stringify(["LAB:TEMP1"]));
    localStorage.setItem("pvark-recent", JSON.stringify(["VAC:GAUGE1"]));
  });
  await page.locator("#tab-find").click();
  await page.locator("#found .found-head").first().waitFor();
  await page.locator('#found [data-pv="LAB:TEMP1"] .tick').click();
}

async function empty(page: Page, base: string): Promise<void> {
  await page.goto(base);
  await page.getByText("Nothing is plotted yet").waitFor();
}

const WAYS = { oidc: "idp.lab.example", password: true };

/** Only who has logged in may see anything. */
async function login(page: Page, server: TestServer, base: string): Promise<void> {
  server.me = server.nobody = somebody("anonymous", "", null, WAYS);
  await page.goto(`${base}?${FEW}&${HOUR}`);
  await page.getByText("Whoever has not logged in may see nothing").waitFor();
}

async function wrong(page: Page, server: TestServer, base: string): Promise<void> {
  server.me = server.nobody = somebody("anonymous", "", "read", { ...WAYS, oidc: null });
  await open(page, `${base}?${FEW}&${HOUR}`);
  await page.locator("#who").click();
  await page.fill("#me [name=username]", "ana");
  await page.fill("#me [name=password]", "wrong");
  await page.keyboard.press("Enter");
  await page.getByText("The name or the password is wrong.").waitFor();
}

async function who(page: Page, server: TestServer, base: string): Promise<void> {
  server.nobody = somebody("anonymous", "", "read", WAYS);
  const some = [{ right: "operate" as const, pvs: ["SR*", "LAB:*"] }];
  server.me = { ...somebody("oidc", "ana", "read", WAYS), most: "operate", some, here: "operate" };
  await open(page, `${base}?${FEW}&${HOUR}`);
  await page.locator("#who").click();
}

async function over(page: Page, server: TestServer, base: string): Promise<void> {
  server.nobody = somebody("anonymous", "", null, WAYS);
  server.me = somebody("oidc", "ana", "operate", WAYS);
  await open(page, `${base}?pv=SR:CURRENT&pv=LAB:TEMP1&live=60&zone=utc`);
  server.endSession();
  await page.getByText("The session of ana is over.").waitFor();
  await page.waitForTimeout(rest.millis);
}

async function waveform(page: Page, base: string): Promise<void> {
  await open(page, `${base}?pv=SR:CURRENT&pv=BPM:WAVE&pv=BPM:TABLE&${HOUR}&at=2026-11-20T10:10:00Z`);
  await page.locator(".unfold:visible").first().click();
  await page.locator('.waveform[aria-label="BPM:WAVE"] canvas').waitFor();
  await page.locator('.waveform[aria-label="BPM:TABLE"] pre').waitFor();
}

async function samples(page: Page, url: string): Promise<void> {
  await open(page, url);
  await page.locator(".samples-grid [data-row]").first().waitFor();
}

async function drawer(page: Page, url: string): Promise<void> {
  await open(page, url);
  await page.locator('.drawer-panel[aria-busy="false"]').waitFor();
}

async function settings(page: Page, base: string): Promise<void> {
  await open(page, `${base}?${FEW}&${HOUR}`);
  await page.locator("#panel-set").click();
  await page.locator("#settings[open]").waitFor();
}

async function share(page: Page, server: TestServer, base: string): Promise<void> {
  await open(page, `${base}?${FEW}&${HOUR}`);
  await page.keyboard.press("x");
  await page.locator(".export-plan").getByText("About").waitFor();
  await page.getByRole("button", { name: "Download CSV" }).click();
  await page.locator(".export-files a:not([hidden])").waitFor();
  server.exports.seconds = 60;
  await page.locator('[data-choice="aligned"]').click();
  await page.getByRole("button", { name: "Download CSV" }).click();
  await page.locator(".export-files progress:not([hidden])").waitFor();
}

async function managed(page: Page, base: string): Promise<void> {
  await page.goto(`${base}manage`);
  await page.locator('.table-row[data-pv="LAB:OFFLINE"]').click();
  await page.locator('.table-row[data-pv="LAB:TEMP1"]').click();
  await page.locator(".bulk").getByText("2 of").waitFor();
}

async function removal(page: Page, base: string): Promise<void> {
  await managed(page, base);
  await page.locator('[data-verb="remove"]').click();
  await page.getByText("kept until a purge").waitFor();
}

async function check(page: Page, base: string): Promise<void> {
  await page.goto(`${base}manage?part=add`);
  const pumps = Array.from({ length: 40 }, (_, i) => [`VAC:IP${12 + i}:P`, `LAB:IP${12 + i}:I`]).flat();
  const [first, ...rest] = ["# vacuum, second half", "VAC:GAUGE1", ...pumps];
  rest.splice(5, 0, "NEW GAUGE 4:P", "NEW:B,scan,10");
  rest.splice(8, 0, "foo://NEW:C", "NEW:D,scan,0", "pva://", "SR:CURRENT");
  await page.fill(".add-names textarea", [first, ...rest].join("\n"));
  await page.getByRole("button", { name: "Check" }).click();
  await page.getByText("are known already").waitFor();
}

async function part(page: Page, url: string, text: string): Promise<void> {
  await page.goto(url);
  await page.locator("#manage").getByText(text).first().waitFor();
}
