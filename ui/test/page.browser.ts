// The page in headless Chromium against the test server: what an operator does, and what is then on the screen.

import assert from "node:assert/strict";
import { test } from "node:test";
import { paste } from "./chromium.ts";
import { base, browser, loaded, openForEach, page, sent, server } from "./opened.ts";
import { HOUR } from "./pvs.ts";

const SPAN = "from=2026-11-20T10:00:00Z&to=2026-11-20T11:00:00Z&zone=utc";

openForEach(15_000);

/** Opens a view and waits until everything in it is loaded. */
async function open(query: string): Promise<void> {
  await page.goto(`${base}?${query}`);
  await loaded();
}

function cell(pv: string, name: string): Promise<string> {
  return page.locator(`#legend [data-pv="${pv}"] .${name}`).evaluate((cell) => cell.textContent ?? "");
}

/** Whether bins of the plot are asked for. */
function isBins(request: string): boolean {
  return request.startsWith("/api/v1/view?") && !request.includes("format=json");
}

/** Polls until a condition of the test's own holds; the page's are waited for in the page. */
async function until(
  condition: () => boolean | Promise<boolean>,
  what: string,
  millis = 15_000,
): Promise<void> {
  const deadline = Date.now() + millis;
  while (!(await condition())) {
    assert.ok(Date.now() < deadline, `waited in vain: ${what}`);
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
}

/** The colour in which a trace is drawn, as the legend shows it. */
function colourOf(pv: string): Promise<string> {
  return page
    .locator(`#legend [data-pv="${pv}"] .swatch`)
    .evaluate((swatch) => getComputedStyle(swatch).getPropertyValue("--trace"));
}

/** How many of the plot's canvas pixels between two moments have nearly this colour. */
function pixels(colour: string, fromPart = 0, toPart = 1): Promise<number> {
  const query = { colour, fromPart, toPart };
  return page.evaluate(({ colour, fromPart, toPart }) => {
    const canvas = document.querySelector<HTMLCanvasElement>("#plot canvas")!;
    const over = document.querySelector<HTMLElement>("#plot .over")!;
    const ratio = canvas.width / canvas.clientWidth;
    const left = (over.offsetLeft + over.clientWidth * fromPart) * ratio;
    const width = over.clientWidth * (toPart - fromPart) * ratio;
    const image = canvas
      .getContext("2d")!
      .getImageData(left, over.offsetTop, width, over.clientHeight * ratio).data;
    const wanted = [1, 3, 5].map((at) => parseInt(colour.slice(at, at + 2), 16));
    let count = 0;
    // The edge of a gap, at the top of a pane, has the colour too.
    const begin = 24 * ratio * Math.round(width) * 4;
    for (let i = begin; i < image.length; i += 4) {
      // Hatching and bands have the colour too, but let the background through.
      const isSolid = image[i + 3]! > 180;
      if (isSolid && wanted.every((value, channel) => Math.abs(value - image[i + channel]!) < 24)) count++;
    }
    return count;
  }, query);
}

async function plotBox(): Promise<{ x: number; y: number; width: number; height: number }> {
  const box = await page.locator("#plot .over").boundingBox();
  assert.ok(box);
  return box;
}

test("a PV is found by a fragment and plotted with the keyboard alone", async () => {
  await page.goto(base);
  await page.getByText("Nothing is plotted yet").waitFor();
  await page.keyboard.press("/");
  await page.keyboard.type("current");
  await page.locator('#found [data-pv="SR:CURRENT"][aria-selected="true"]').waitFor();
  await page.keyboard.press("Enter");
  await loaded();
  assert.match(page.url(), /pv=SR:CURRENT/);
  assert.ok((await pixels(await colourOf("SR:CURRENT"))) > 500, "the trace is on the canvas");
});

test("globs and regular expressions find, arrows choose, Escape leaves", async () => {
  await page.goto(base);
  await page.keyboard.press("/");
  await page.keyboard.type("lab:temp?");
  await page.locator('#found[data-match="lab:temp?"]').waitFor();
  assert.equal(await page.locator("#found li[data-pv]").count(), 3);
  await page.keyboard.press("ArrowDown");
  await page.keyboard.press("Enter");
  await page.locator('#legend [data-pv="LAB:TEMP2"]').waitFor();
  await page.keyboard.type("~^VAC");
  await page.locator('#found [data-pv="VAC:GAUGE1"]').waitFor();
  await page.keyboard.press("Escape");
  assert.equal(await page.locator("#found").isVisible(), false);
  await page.keyboard.press("Escape");
  assert.equal(await page.evaluate(() => document.activeElement?.id ?? ""), "");
});

test("a search without results says what to do, and offers to archive the name", async () => {
  await page.goto(base);
  await page.keyboard.press("/");
  await page.keyboard.type("NEW:PV");
  await page.getByText("No archived PV matches").waitFor();
  await page.keyboard.press("Enter");
  await page.locator("#add[open]").waitFor();
  assert.equal(await page.inputValue("#add-names"), "NEW:PV");
  server.addedState = "searching";
  await page.fill("#add-names", `# new ones\npva://NEW:PV\nca://NEW:PV\nfoo://X\n${"x".repeat(70)}`);
  await page.locator("#add-form button[type=submit]").click();
  await page.getByText("# new ones was refused: this is a comment").waitFor();
  await page.getByText("foo://X was refused: there is no protocol foo").waitFor();
  await page.getByText("was refused: a PV name has 1 to 60 bytes").waitFor();
  await page.getByText("NEW:PV is asked for; waits for an IOC").waitFor();
  server.pvs.find((pv) => pv.name === "NEW:PV")!.state = "connected";
  await page.getByText("NEW:PV is connected and archived").waitFor();
  await page.getByRole("button", { name: "Plot it" }).click();
  await loaded();
  assert.equal(await page.locator("#legend [data-pv]").count(), 1);
});

test("an empty archive says how to begin", async () => {
  server.pvs = [];
  await page.goto(base);
  await page.getByText("Nothing is archived yet").first().waitFor();
  await page.getByRole("button", { name: "Archive PVs …" }).click();
  await page.locator("#add[open]").waitFor();
});

test("dragging zooms in and asks for round bins of about the pixels' width, going back restores the view", async () => {
  await open(`pv=SR:CURRENT&${SPAN}`);
  const wide = page.url();
  const { x, y, width, height } = await plotBox();
  server.requests = [];
  await page.mouse.move(x + width * 0.25, y + height / 2);
  await page.mouse.down();
  await page.mouse.move(x + width * 0.3, y + height / 2, { steps: 4 });
  await page.mouse.up();
  const shorter = (request: string) => isBins(request) && !request.includes("T10:00:00Z");
  await until(() => server.requests.some(shorter), "bins of the shorter range");
  const asked = new URL(server.requests.find(shorter)!, base).searchParams;
  const from = Date.parse(asked.get("from")!) / 1000 - HOUR;
  const to = Date.parse(asked.get("to")!) / 1000 - HOUR;
  assert.ok(Math.abs(from - 900) < 5 && Math.abs(to - 1080) < 5, `${from} to ${to}`);
  assert.ok(
    Math.abs(Number(asked.get("bins")) - 2 * width) <= 2,
    `${asked.get("bins")} bins on ${width} pixels`,
  );
  assert.notEqual(page.url(), wide);
  await loaded();
  await page.keyboard.press("Control+z");
  await page.waitForFunction((url) => location.href === url, wide);
});

test("turning the wheel fast asks only for where it ends", async () => {
  await open(`pv=SR:CURRENT&${SPAN}`);
  const { x, y, width, height } = await plotBox();
  const [clientX, clientY] = [x + width / 2, y + height / 2];
  /** Ten turns, made in the page: on a busy machine each by itself may take longer than turns are apart. Says how far they were at most. */
  const turn = () =>
    page.evaluate(
      async ({ clientX, clientY, deltaY }) => {
        const over = document.querySelector("#plot .over")!;
        let [longest, before] = [0, performance.now()];
        for (let i = 0; i < 10; i++) {
          over.dispatchEvent(
            new WheelEvent("wheel", { bubbles: true, cancelable: true, clientX, clientY, deltaY }),
          );
          await new Promise((resolve) => setTimeout(resolve, 20));
          longest = Math.max(longest, performance.now() - before);
          before = performance.now();
        }
        return longest;
      },
      { clientX, clientY, deltaY: -100 },
    );
  for (let tries = 0; ; tries++) {
    assert.ok(tries < 20, "the page never turns ten times in a row");
    server.requests = [];
    if ((await turn()) < 100) break;
    await loaded();
  }
  await until(() => server.requests.some((request) => isBins(request)), "bins after the last turn");
  await loaded();
  const asked = server.requests.filter((request) => isBins(request));
  assert.ok(asked.length <= 3, `${asked.length} requests for ten turns`);
});

test("a drag over twenty PVs asks once a second for its edge, and where it rests, not at each of its moves", async () => {
  const current = server.pvs[0]!;
  const names = Array.from({ length: 20 }, (_, i) => `SR:CURRENT${i}`);
  server.pvs.push(...names.map((name) => ({ ...current, name })));
  await open(`${names.map((name) => `pv=${name}`).join("&")}&${SPAN}`);
  const { x, y, width, height } = await plotBox();
  server.requests = [];
  await page.mouse.move(x + width / 2, y + height / 2);
  await page.keyboard.down("Shift");
  await page.mouse.down();
  const began = Date.now();
  for (let i = 0; i < 100; i++) await page.mouse.move(x + width / 2 + 2 * i, y + height / 2);
  const seconds = (Date.now() - began) / 1000;
  const asked = server.requests.filter((request) => isBins(request)).length;
  assert.ok(asked <= 2 + seconds, `${asked} requests for bins in a drag of ${seconds} s`);
  await page.mouse.up();
  await page.keyboard.up("Shift");
  await until(() => server.requests.some((request) => isBins(request)), "bins where it rests");
  await loaded();
  const all = server.requests.filter((request) => isBins(request));
  assert.ok(all.length <= asked + 1, `${all.length} requests for the bins of twenty PVs`);
  assert.ok(
    all.every((request) => request.includes("width=")),
    "of what has only moved the missing side alone",
  );
});

test("a range that moves asks for the bins of its missing side alone", async () => {
  await open(`pv=SR:LIFETIME&${SPAN}`);
  server.requests = [];
  await page.keyboard.press("ArrowRight");
  await until(() => server.requests.some((request) => isBins(request)), "bins of the side");
  await loaded();
  const asked = server.requests.filter((request) => isBins(request));
  assert.equal(asked.length, 1);
  const { searchParams } = new URL(asked[0]!, base);
  assert.equal(searchParams.get("width"), "2");
  assert.equal(searchParams.get("from"), "2026-11-20T11:00:00Z");
  assert.equal(Date.parse(searchParams.get("to")!) / 1000, HOUR + 4500);
  assert.ok((await pixels(await colourOf("SR:LIFETIME"), 0.02, 0.4)) > 100, "what was kept is drawn");
  assert.ok((await pixels(await colourOf("SR:LIFETIME"), 0.8, 0.98)) > 100, "and what was added");
});

test("few samples in a range are shown themselves, with the one that holds before it", async () => {
  await open("pv=LAB:SETPOINT&from=2026-11-20T10:05:00Z&to=2026-11-20T10:10:00Z&zone=utc");
  assert.equal(await cell("LAB:SETPOINT", "time"), "10:00:00.000000000");
  assert.ok(
    (await pixels(await colourOf("LAB:SETPOINT"), 0.02, 0.1)) > 50,
    "its value is drawn from the left edge on",
  );
});

test("the URL restores PVs, range, zone, hidden traces, theme, axes and mark", async () => {
  const query = `pv=SR:CURRENT&hidden=VAC:GAUGE1&pv=SR:MODE&${SPAN}&theme=dark&log=mbar&at=2026-11-20T10:10:00Z`;
  await open(query);
  assert.equal(await page.locator("html").getAttribute("data-theme"), "dark");
  assert.equal(await page.inputValue("#from"), "2026-11-20 10:00:00");
  assert.equal(await page.locator("#zone").inputValue(), "utc");
  assert.equal(
    await page.locator('#legend [data-pv="VAC:GAUGE1"] .swatch').getAttribute("aria-pressed"),
    "false",
  );
  assert.match(await page.locator("#moment").innerText(), /^At 10:10:00.000 UTC$/);
  assert.equal(await cell("SR:MODE", "value"), "Fault");
  await page.locator('#legend [data-pv="VAC:GAUGE1"] .swatch').click();
  assert.match(page.url(), /pv=VAC:GAUGE1/);
});

test("a gap breaks the line, is hatched and says its cause", async () => {
  await open(`pv=SR:CURRENT&${SPAN}`);
  const colour = await colourOf("SR:CURRENT");
  // The PV is lost from 10:20 to 10:30, a third to a half of the range.
  assert.equal(await pixels(colour, 0.35, 0.48), 0, "nothing is drawn across the gap");
  assert.ok((await pixels(colour, 0.1, 0.3)) > 100);
  const { x, y, width, height } = await plotBox();
  await page.mouse.move(x + width * 0.4, y + height / 2);
  await page.locator("#hint").getByText("connection to the IOC lost").waitFor();
  assert.match(await cell("SR:CURRENT", "note"), /gap: connection to the IOC lost/);
});

test("a gap that lasts reaches up to now", async () => {
  await open("pv=LAB:OFFLINE&live=1800");
  assert.match(await cell("LAB:OFFLINE", "note"), /connection to the IOC lost/);
  const colour = await colourOf("LAB:OFFLINE");
  assert.ok((await pixels(colour, 0.1, 0.5)) > 50, "values before it");
  assert.equal(await pixels(colour, 0.75, 1), 0, "none in it");
});

test("a spike of one sample is seen in ten days", async () => {
  await open("pv=SR:CURRENT&from=2026-11-06T00:00:00Z&to=2026-11-16T00:00:00Z");
  assert.equal(await cell("SR:CURRENT", "max"), "460.000");
  const top = await page.evaluate(() => {
    const canvas = document.querySelector<HTMLCanvasElement>("#plot canvas")!;
    const over = document.querySelector<HTMLElement>("#plot .over")!;
    const strip = canvas
      .getContext("2d")!
      .getImageData(over.offsetLeft, over.offsetTop + 60, over.clientWidth, 1).data;
    let coloured = 0;
    for (let i = 0; i < strip.length; i += 4) if (strip[i + 2]! - strip[i]! > 60) coloured++;
    return coloured;
  });
  assert.ok(top > 3, `${top} columns reach the top`);
});

/** Waits until samples that came live cover three seconds, and says how many the last minute has then. */
async function countAfterAWhile(): Promise<number> {
  const secondsOf = (text: string) => {
    const [h, m, s] = text.split(":").map(Number);
    return h! * 3600 + m! * 60 + s!;
  };
  const seconds = async () =>
    secondsOf(
      await page
        .locator("#legend .time")
        .first()
        .evaluate((cell) => cell.textContent ?? ""),
    );
  const first = await seconds();
  const deadline = Date.now() + 8000;
  while (!(((await seconds()) - first + 86400) % 86400 > 3)) {
    assert.ok(Date.now() < deadline, "the live samples do not go on");
    await new Promise((resolve) => setTimeout(resolve, 50));
  }
  return Number(await page.locator("#legend .count").evaluate((cell) => cell.textContent ?? ""));
}

// Ten samples a second for sixty seconds, up to now: one twice or one lost in a seam would show.
const isMinute = (count: number) => count >= 590 && count <= 601;

test("live samples are appended to the history, each once", async () => {
  await open("pv=SR:CURRENT&live=60");
  const count = await countAfterAWhile();
  assert.ok(isMinute(count), `${count} samples in a minute`);
});

test("a lost stream is taken up again without a hole", async () => {
  await open("pv=SR:CURRENT&live=60");
  await countAfterAWhile();
  server.requests = [];
  server.dropStreams();
  await until(() => server.requests.some((request) => request.includes("/live")), "a new stream", 5000);
  await until(() => server.requests.some((request) => isBins(request)), "the history again");
  await loaded();
  const count = await countAfterAWhile();
  assert.ok(isMinute(count), `${count} samples in a minute`);
});

test("panning away stops following, the button takes it up again", async () => {
  await open("pv=SR:CURRENT&live=300");
  assert.equal(await page.locator("#live").getAttribute("aria-pressed"), "true");
  await page.keyboard.press("ArrowLeft");
  await page.waitForFunction(() => document.querySelector("#live")!.getAttribute("aria-pressed") === "false");
  assert.match(page.url(), /from=.*to=/);
  await page.locator("#live").click();
  await page.waitForFunction(() => document.querySelector("#live")!.getAttribute("aria-pressed") === "true");
});

test("typed times are taken in the zone shown, wrong ones are refused in place", async () => {
  await open(`pv=SR:CURRENT&${SPAN}`);
  await page.fill("#from", "2026-11-20 09:30");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.search.includes("from=2026-11-20T09:30:00Z"));
  await page.fill("#from", "2026-13-01");
  await page.getByRole("button", { name: "Go" }).click();
  await page.getByRole("alert").getByText("Not a time: 2026-13-01 has month 13.").waitFor();
  assert.equal(await page.locator("#from").getAttribute("aria-invalid"), "true");
  assert.equal(await page.inputValue("#from"), "2026-13-01");
  assert.equal(await page.evaluate(() => document.activeElement!.id), "from");
  assert.match(page.url(), /from=2026-11-20T09:30:00Z/);
  await page.keyboard.press("Escape");
  assert.equal(await page.inputValue("#from"), "2026-11-20 09:30:00");
  assert.equal(await page.locator("#from").getAttribute("aria-invalid"), null);
  assert.equal(await page.locator("#range-refusal").isVisible(), false);
});

test("what is typed stays when the field is left, until Go takes both ends", async () => {
  await open(`pv=SR:CURRENT&${SPAN}`);
  await page.fill("#from", "2026-11-20 10:30");
  await page.keyboard.press("Tab");
  assert.equal(await page.evaluate(() => document.activeElement!.id), "to");
  assert.equal(await page.inputValue("#from"), "2026-11-20 10:30");
  await page.keyboard.type("2026-11-20 10:15");
  await page.keyboard.press("Enter");
  await page.getByRole("alert").getByText("Begins after it ends.").waitFor();
  assert.equal(await page.evaluate(() => document.activeElement!.id), "to");
  await page.fill("#to", "+5min");
  await page.locator("#zone").focus();
  await page.getByRole("button", { name: "Go" }).click();
  await page.waitForFunction(() =>
    location.search.includes("from=2026-11-20T10:30:00Z&to=2026-11-20T10:35:00Z"),
  );
  assert.equal(await page.inputValue("#to"), "2026-11-20 10:35:00");
});

/** What the line below the fields says; nothing while it is not there. */
function lineBelow(): Promise<string> {
  return page.locator("#range-line").evaluate((line) => (line.checkVisibility() ? line.textContent! : ""));
}

test("while times are typed a line below says how they are read", async () => {
  await open(`pv=SR:CURRENT&${SPAN}`);
  assert.equal(await lineBelow(), "", "nothing is typed yet");
  await page.fill("#from", "2026-11-19 08:00");
  const read = "Thu 2026-11-19 08:00:00 – Fri 2026-11-20 11:00:00, 27 h · UTC";
  await page.locator("#range-reading").getByText(read).waitFor();
  await page.keyboard.press("Tab");
  await page.keyboard.type("now");
  await page.locator("#range-reading").getByText("Thu 2026-11-19 08:00:00 – now, ").waitFor();
  await page.fill("#to", "2026-11-31");
  await page.locator("#range-reading").getByText("To: Not a time: 2026-11-31 has day 31.").waitFor();
  assert.equal(await page.locator("#to").getAttribute("aria-invalid"), null, "nobody has pressed Go");
  await page.locator("#live").focus();
  assert.equal(await lineBelow(), "", "the plot is not covered while somebody does something else");
  await page.locator("#to").focus();
  assert.match(await lineBelow(), /has day 31/);
  await page.fill("#to", "+1h");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() =>
    location.search.includes("from=2026-11-19T08:00:00Z&to=2026-11-19T09:00:00Z"),
  );
  assert.equal(await lineBelow(), "");
});

test("ends that are the wrong way round are swapped by a button, by keyboard too", async () => {
  await open(`pv=SR:CURRENT&${SPAN}`);
  const swapped = () =>
    page.waitForFunction(() => location.search.includes("from=2026-11-20T09:00:00Z&to=2026-11-20T10:00:00Z"));
  await page.fill("#to", "2026-11-20 09:00");
  await page.keyboard.press("Enter");
  await page.getByRole("alert").getByText("Begins after it ends.").waitFor();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await swapped();
  assert.equal(await page.inputValue("#from"), "2026-11-20 09:00:00");
  assert.equal(await lineBelow(), "");
  await page.fill("#from", "-1h");
  await page.fill("#to", "-1d");
  await page.getByRole("button", { name: "Swap them?" }).click();
  await page.waitForFunction(() => !location.search.includes("from=2026-11-20"));
  await page.fill("#from", "2026-11-20 10:00");
  await page.fill("#to", "2026-11-20 10:00");
  await page.getByRole("button", { name: "Go" }).click();
  await page.getByRole("alert").getByText("Ends where it begins.").waitFor();
  assert.equal(await page.locator("#swap").isVisible(), false, "swapping would mend nothing");
});

test("a live range below a second writes what can be typed, and an end nobody typed in stays as it is", async () => {
  await open("pv=SR:CURRENT&live=0.5&zone=utc");
  assert.equal(await page.inputValue("#from"), "-0.5 s");
  await page.locator("#from").focus();
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.search.includes("live=0.5"));
  assert.equal(await page.locator("#range-refusal").isVisible(), false);
  await open("pv=SR:CURRENT&from=2026-11-20T10:00:00.75Z&to=2026-11-20T11:00:00Z&zone=utc");
  await page.fill("#to", "2026-11-20 10:30");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.search.includes("to=2026-11-20T10:30:00Z"));
  assert.match(page.url(), /from=2026-11-20T10:00:00.75Z/);
});

test("a relative range of a URL follows now", async () => {
  await open("pv=LAB:TEMP1&from=-8h");
  assert.equal(await page.locator("#live").getAttribute("aria-pressed"), "true");
  assert.equal(await page.inputValue("#from"), "-8 h");
  assert.equal(await page.inputValue("#to"), "now");
});

test("the theme follows the system until it is chosen", async () => {
  await page.emulateMedia({ colorScheme: "dark" });
  await open(`pv=SR:CURRENT&${SPAN}`);
  assert.equal(await page.locator("html").getAttribute("data-theme"), "dark");
  const dark = await colourOf("SR:CURRENT");
  await page.emulateMedia({ colorScheme: "light" });
  await page.waitForFunction(() => document.documentElement.dataset.theme === "light");
  assert.notEqual(await colourOf("SR:CURRENT"), dark);
  await page.locator("#more").click();
  await page.locator("#theme").click();
  await page.waitForFunction(() => document.documentElement.dataset.theme === "dark");
  assert.ok((await pixels(dark)) > 500, "the canvas is drawn in the dark theme's colour");
});

test("texts have a strip, waveforms a plot of their own, structures their JSON", async () => {
  await open(`pv=SR:MESSAGE&pv=BPM:WAVE&pv=BPM:TABLE&${SPAN}&at=2026-11-20T10:10:00Z`);
  assert.equal(await cell("SR:MESSAGE", "value"), "Top-up at 300 mA");
  await page.locator('.waveform[aria-label="BPM:WAVE"] canvas').waitFor();
  await page.locator('.waveform[aria-label="BPM:TABLE"] pre').getByText('"label": "orbit"').waitFor();
  const moment = page.locator('.waveform[aria-label="BPM:WAVE"] .moment');
  assert.equal(await moment.innerText(), "2026-11-20 10:10:00.000000000");
  await page.locator('.waveform[aria-label="BPM:WAVE"] button[aria-label="The next sample"]').click();
  await moment.getByText("10:10:01.000000000").waitFor();
});

test("what the server refuses of one PV stands beside it, the others are drawn", async () => {
  server.refusals.set("LAB:TEMP1", "block 7 of this PV is damaged");
  await open(`pv=LAB:TEMP1&pv=LAB:TEMP2&pv=NO:SUCH&${SPAN}`);
  assert.equal(await cell("LAB:TEMP1", "note"), "block 7 of this PV is damaged");
  assert.equal(await cell("NO:SUCH", "note"), "not in this archive");
  assert.ok((await pixels(await colourOf("LAB:TEMP2"))) > 300);
});

test("a name that the archive does not know does not stop the live samples of the others", async () => {
  await open("pv=NO:SUCH&pv=SR:CURRENT&live=60");
  const time = await cell("SR:CURRENT", "time");
  // Soon: after ten seconds the history is loaded anew, which would show newer samples too.
  await page.waitForFunction(
    (time) => document.querySelector('[data-pv="SR:CURRENT"] .time')!.textContent! > time,
    time,
    { timeout: 6000 },
  );
});

test("a PV that is found while the page looks at it is drawn from then on", async () => {
  await open("pv=LAB:NEVER&live=60");
  assert.match(await cell("LAB:NEVER", "note"), /not yet found on the network/);
  const pv = server.pvs.find((pv) => pv.name === "LAB:NEVER")!;
  server.requests = [];
  pv.state = "connected";
  // Connected is not yet known: the type, and the end of the gap, come with the first value.
  await until(() => server.requests.includes("/api/v1/pvs/LAB%3ANEVER"), "what the PV is");
  await loaded();
  pv.gaps[0]!.to = Date.now() / 1000;
  Object.assign(pv, { type: "f64", period: 0.2, value: (k: number) => k % 10 });
  const isDrawn = () =>
    document.querySelector("#legend .note")!.textContent === "connected" &&
    Number(document.querySelector("#legend .count")!.textContent) > 10;
  await page.waitForFunction(isDrawn, undefined, { timeout: 7000 });
  assert.ok((await pixels(await colourOf("LAB:NEVER"))) > 30);
});

test("a view behind a # is understood", async () => {
  await page.goto(`${base}#pv=SR:CURRENT&${SPAN}`);
  await loaded();
  assert.equal(await page.inputValue("#from"), "2026-11-20 10:00:00");
});

test("a lost archiver is said at once and the page recovers by itself", async () => {
  await open(`pv=SR:CURRENT&${SPAN}`);
  server.down = true;
  await page.getByText("No archiver since").waitFor();
  await page.locator("#lost").getByText("It is tried every 2 s; the page goes on by itself.").waitFor();
  const note = page.locator("#legend .note");
  await note.filter({ hasText: /^(not known since|the archiver does not answer)/ }).waitFor();
  server.down = false;
  server.problems = ["the disk is nearly full: 2 GB left"];
  server.requests = [];
  await page.getByText("Archiver connected").waitFor();
  await page.getByText("the disk is nearly full").waitFor();
  await until(() => server.requests.some((request) => isBins(request)), "the data again");
});

test("while the archiver is gone nothing is drawn after its last answer, and nothing called connected", async () => {
  await open("pv=LAB:TEMP1&live=20&zone=utc");
  const colour = await colourOf("LAB:TEMP1");
  const isDrawn = async () => (await pixels(colour, 0.8, 0.97)) > 20;
  await until(isDrawn, "while it answers the value holds until now");
  server.down = true;
  server.dropStreams();
  await page.getByText("No archiver since").waitFor();
  await until(async () => (await pixels(colour, 0.85, 1)) === 0, "nobody knows what it is now");
  await page
    .locator('#legend [data-pv="LAB:TEMP1"] .note')
    .getByText(/^not known since|does not answer/)
    .waitFor();
  assert.doesNotMatch(await page.locator("body").innerText(), /\bconnected\b/);
  server.down = false;
  await page.getByText("Archiver connected").waitFor();
  await loaded();
  // It may say so before the picture that shows it.
  await until(isDrawn, "the value holds until now again");
});

test("of an archiver that is silent the panel says up to when it is known", async () => {
  await open("pv=SR:CURRENT&live=60&zone=utc");
  server.down = true;
  server.dropStreams();
  await page
    .locator("#lost b")
    .getByText(/^No archiver since \d\d:\d\d:\d\d \(.*\): it does not answer\.$/)
    .waitFor();
  await page
    .locator("#moment")
    .getByText(/^Last known \d\d:\d\d:\d\d$/)
    .waitFor();
  server.down = false;
  await page.locator("#moment").getByText("Now", { exact: true }).waitFor();
});

test("where nothing is archived three ways on are told, and for how much there is room", async () => {
  server.pvs = [];
  await page.goto(base);
  await page.locator("#barren").waitFor();
  assert.deepEqual(await page.locator(".ways h3").allInnerTexts(), [
    "Archive PVs",
    "Bring old archives",
    "Try it",
  ]);
  await page.locator("#room").getByText("3.00 GB are free on the archive’s disk.").waitFor();
  await page.locator("#archive-first").click();
  await page.locator("#add[open]").waitFor();
});

test("what lies between cursors A and B is shaded, with how long that is where there is room between their flags", async () => {
  const at = (time: string) => `2026-11-20T10:${time}Z`;
  await open(`pv=SR:CURRENT&${SPAN}&at=${at("40:00")}&b=${at("20:00")}`);
  const stretch = page.locator("#plot .stretch");
  const box = (await stretch.boundingBox())!;
  const over = (await page.locator("#plot .over").boundingBox())!;
  const near = (a: number, b: number) => assert.ok(Math.abs(a - b) < 2, `${a} and ${b}`);
  near(box.x, over.x + over.width / 3);
  near(box.width, over.width / 3);
  assert.equal(await stretch.innerText(), "20 min");
  await open(`pv=SR:CURRENT&${SPAN}&at=${at("20:00")}&b=${at("22:00")}`);
  await stretch.waitFor();
  assert.equal(await stretch.innerText(), "", "the flags leave no room");
  await page.keyboard.press("Escape");
  assert.equal(await stretch.isVisible(), false, "without B nothing is between");
});

test("why there is no data is a key away, and says what is and what was", async () => {
  await open("from=2026-11-20T10:50:00Z&to=2026-11-20T11:00:00Z&zone=utc&pv=LAB:TEMP1&pv=LAB:NEVER");
  const button = (pv: string) => page.locator(`#legend [data-pv="${pv}"] .why`);
  await button("LAB:NEVER").waitFor();
  assert.equal(await button("LAB:TEMP1").isVisible(), false, "nothing is missing of it");
  await page.keyboard.press("y");
  const why = page.locator('#why[data-complete="incomplete"]');
  await why.waitFor();
  assert.equal(await page.locator("#details-title").innerText(), "LAB:NEVER");
  const text = await why.innerText();
  for (const part of ["Now: searching since", "Nothing was ever recorded", "never_connected"])
    assert.ok(text.includes(part), `${part} in ${text}`);
  await page.keyboard.press("Escape");
  server.refusals.set("LAB:NEVER", "the disk is on fire");
  await button("LAB:NEVER").click();
  await page.locator("#details").getByText("the disk is on fire").waitFor();
});

test("why? gives a verdict, what became of each update, the causes, how sure that is and what to do", async () => {
  await open(`pv=SR:CURRENT&${SPAN}`);
  await page.locator('#legend [data-pv="SR:CURRENT"] .why').click();
  const why = page.locator("#why");
  await why.waitFor();
  const text = await why.innerText();
  const parts = [
    "Not complete: 13 min of 1 h is missing.",
    "What became of each update",
    "stored 28,200",
    "not recorded 13 min",
    "By cause",
    "10:20:00 – 10:30:00 (10 min): The connection to the IOC was lost.",
    "Received 1,234 = stored 1,234. No pulse ids or counter prove more.",
    "Look at its IOC and the network between",
    "see why it stopped in its log",
  ];
  let at = -1;
  for (const part of parts) {
    const next = text.indexOf(part, at + 1);
    assert.ok(next > at, `${part} behind what stands before it in ${text}`);
    at = next;
  }
  assert.equal(
    await page.locator(".why-bars .stored").count(),
    47,
    "a bar for each minute in which anything came",
  );
  assert.equal(await page.locator(".why-bars .hole").count(), 2);
  const drawer = (await page.locator("#details").boundingBox())!;
  assert.deepEqual([drawer.x, drawer.width], [900, 500], "at the right, beside the plot");
  await page.getByRole("button", { name: "Zoom to the gap" }).click();
  await page.waitForFunction(() => location.search.includes("from=2026-11-20T10:17:30"));
  assert.equal(await page.locator("#details").isVisible(), false);
});

test("of a range without an account, and of one that is refused, the rest is told", async () => {
  await open(`pv=LAB:SETPOINT&${SPAN}`);
  await page.route("**/ledger?*", (route) => route.fulfill({ status: 503, body: "{}" }));
  await page.keyboard.press("y");
  await page.locator("#why").getByText("Not complete: 3 min of 1 h is missing.").waitFor();
  assert.equal(await page.locator(".why-bars").count(), 0);
  await page.locator("#why").getByText("Received").waitFor();
});

test("a PV can be paused and resumed from its dialog", async () => {
  await open(`pv=SR:CURRENT&${SPAN}`);
  await page.locator("#legend .name").click();
  await page.getByRole("button", { name: "Pause archiving" }).click();
  await page.getByRole("button", { name: "Resume archiving" }).waitFor();
  assert.equal(server.pvs.find((pv) => pv.name === "SR:CURRENT")!.state, "paused");
  await page.locator("#why li").nth(1).waitFor();
  assert.equal(await page.locator("#why li").count(), 2);
  await page.keyboard.press("Escape");
  assert.equal(await cell("SR:CURRENT", "note"), "paused");
});

test("a zoom back to what was seen asks for nothing, and what is at the live edge is asked for again", async () => {
  await open(`pv=SR:LIFETIME&${SPAN}`);
  const asked = () => server.requests.filter((path) => /^\/api\/v1\/(view|samples)|\/gaps/.test(path)).length;
  const shown = () =>
    page.evaluate(() => document.querySelector<HTMLCanvasElement>("#plot canvas")!.toDataURL());
  await page.waitForTimeout(500);
  const [before, picture] = [asked(), await shown()];
  await page.keyboard.press("+");
  await until(() => asked() > before, "the zoom asks");
  await loaded();
  await page.waitForTimeout(500);
  const zoomed = asked();
  await page.keyboard.press("Control+z");
  await page.waitForFunction(() => location.search.includes("to=2026-11-20T11"));
  await page.waitForTimeout(800);
  assert.equal(asked(), zoomed, "nothing was asked for");
  assert.equal(await shown(), picture, "the same is drawn");
  // What ends now may have more than it had.
  await page.keyboard.press("1");
  await until(() => asked() > zoomed, "the live range is asked for");
  await loaded();
  await page.keyboard.press("Control+z");
  await page.waitForTimeout(500);
  const live = asked();
  await page.keyboard.press("Control+y");
  await until(() => asked() > live, "it is asked for again");
});

test("slow answers show progress and leave what is drawn in place", async () => {
  await open(`pv=SR:CURRENT&${SPAN}`);
  server.delay = 800;
  await page.keyboard.press("ArrowRight");
  await page.locator("#progress.is-busy").waitFor();
  await page.locator("#loading").getByText("loading 1 of 1").waitFor();
  assert.ok((await pixels(await colourOf("SR:CURRENT"), 0, 0.5)) > 100);
  server.delay = 0;
  await loaded();
});

test("the keyboard moves the cursor and marks a moment", async () => {
  await open(`pv=SR:CURRENT&${SPAN}`);
  await page.keyboard.press("Shift+ArrowRight");
  await page.waitForFunction(() => /^At \d/.test(document.querySelector("#moment")!.textContent!));
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.search.includes("at=2026-11-20T10:30"));
  await page.keyboard.press("Escape");
  await page.waitForFunction(() => !location.search.includes("at="));
});

test("a range before the first sample says when that is, and leads there", async () => {
  await open("pv=SR:CURRENT&from=2025-11-20T10:00:00Z&to=2025-11-20T11:00:00Z&zone=utc");
  const nothing = page.locator("#nothing");
  const said = "first sample at 2026-01-01 00:00:00; nothing before";
  await nothing.getByText(`SR:CURRENT: ${said}. Show it`).waitFor();
  assert.match(await nothing.innerText(), /^Nothing to draw in this range\s/);
  await page.locator('#legend [data-pv="SR:CURRENT"] .note').getByText(said).waitFor();
  // By keyboard, as by the mouse.
  await nothing.getByRole("button", { name: `Show it: SR:CURRENT: ${said}` }).press("Enter");
  await nothing.waitFor({ state: "hidden" });
  const { from, to } = Object.fromEntries(new URL(page.url()).searchParams) as { from: string; to: string };
  assert.ok(from < "2026-01-01T00:00:00Z" && to > "2026-01-01T00:00:00Z", `${from} to ${to}`);
  assert.equal(Date.parse(to) - Date.parse(from), 3_600_000, "as much is shown as before");
  await page.waitForFunction(() => document.activeElement?.id === "plot");
  await page.goBack();
  await nothing.getByText(said).waitFor();
  await page.selectOption("#length", "all");
  await nothing.waitFor({ state: "hidden" });
});

test("a range behind the last sample says when that was, and leads there", async () => {
  const now = Math.floor(Date.now() / 1000);
  const time = (seconds: number) => new Date(seconds * 1000).toISOString();
  const range = `from=${time(now - 400)}&to=${time(now - 100)}&zone=utc`;
  await open(`pv=LAB:OFFLINE&${range}`);
  const nothing = page.locator("#nothing");
  await nothing.getByText(/LAB:OFFLINE: last sample at [-\d]+ [\d:]+; nothing after\. Show it/).waitFor();
  const last = /at ([-\d]+ [\d:]+);/.exec(await nothing.innerText())![1]!;
  await nothing.getByRole("button").click();
  await nothing.waitFor({ state: "hidden" });
  const params = new URL(page.url()).searchParams;
  const at = `${last.replace(" ", "T")}Z`;
  assert.ok(params.get("from")! < at && at < params.get("to")!, `${at} in ${page.url()}`);
  // One whose value goes on holding has nothing to say there.
  await open(`pv=LAB:OFFLINE&pv=SR:CURRENT&${range}`);
  await loaded();
  assert.ok(await nothing.isHidden());
});

test("within a gap it is said when the last sample was and when there are more", async () => {
  await open("pv=LAB:TEMP1&from=2026-11-20T10:45:30Z&to=2026-11-20T10:47:00Z&zone=utc");
  const said = /LAB:TEMP1: last sample at 2026-11-20 10:44:5\d; recorded again from 2026-11-20 10:48:00\./;
  await page.locator("#nothing").getByText(said).waitFor();
});

test("a name that is not in the archive can be added from the table", async () => {
  await open(`pv=NO:SUCH&pv=SR:CURRENT&${SPAN}`);
  assert.equal(await cell("NO:SUCH", "note"), "not in this archive");
  await page.getByRole("button", { name: "archive it …" }).click();
  await page.locator("#add[open]").waitFor();
  assert.equal(await page.inputValue("#add-names"), "NO:SUCH");
});

test("a wrong name gets those that are like it, by keyboard too, and one of them takes its place", async () => {
  await open(`pv=SR:CURENT&pv=LAB:TEMP1&set=colour:5&${SPAN}`);
  assert.equal(await cell("SR:CURENT", "note"), "not in this archive");
  const near = page.locator('#legend [data-pv="SR:CURENT"] .near');
  await near.getByText("SR:CURRENT").waitFor();
  assert.equal(await near.locator("button").count(), 1, "words of names are no names");
  await page.locator('#legend [data-pv="SR:CURENT"] .name').focus();
  await page.keyboard.press("Tab");
  await page.keyboard.press("Enter");
  await page.waitForFunction(() => location.search.includes("pv=SR:CURRENT&pv=LAB:TEMP1&set=colour:5"));
  await loaded();
  assert.ok((await pixels(await colourOf("SR:CURRENT"))) > 300);
});

test("how the archiver fares: problems, lost PVs, losses, weeks, places and groups, kept up to date", async () => {
  server.problems = ["1 PVs have lost their IOC."];
  await page.goto(base);
  await page.getByText("Nothing is plotted yet").waitFor();
  await page.locator("#chip").click();
  const dialog = page.locator("#overview[open]");
  const lost = dialog.locator('[data-table="pvs"] tbody tr');
  await lost.filter({ hasText: "LAB:OFFLINE" }).waitFor();
  const text = await dialog.innerText();
  for (const said of [
    "1 PVs have lost their IOC.",
    "Lost, because the queue was full",
    "/mnt/lts is not mounted",
    "2026-W47",
    "3.15 bytes",
    "SR:MAINT",
  ])
    assert.ok(text.includes(said), `${said} is missing in ${text}`);
  await dialog.getByText(/now \d+ a second/).waitFor();
  server.pvs.find((pv) => pv.name === "LAB:OFFLINE")!.state = "connected";
  await dialog.getByText("No PV is disconnected.").waitFor();
  await dialog.getByRole("button", { name: /searching/ }).click();
  await lost.filter({ hasText: "LAB:NEVER" }).getByRole("button").click();
  await page.locator('#legend [data-pv="LAB:NEVER"]').waitFor();
  assert.equal(await dialog.isVisible(), false);
});

test("what a view needs is asked for once when it is opened, on any screen", async () => {
  for (const deviceScaleFactor of [1, 2]) {
    const page = await browser.newPage({ viewport: { width: 1400, height: 850 }, deviceScaleFactor });
    server.requests = [];
    await page.goto(`${base}?pv=SR:CURRENT&pv=SR:LIFETIME&pv=LAB:TEMP1&pv=VAC:GAUGE1&${SPAN}`);
    const bins = () => server.requests.filter((request) => isBins(request));
    await until(() => bins().length >= 1, "bins of all");
    // As long as it takes until a second load would have begun, and been answered.
    await page.waitForTimeout(1500);
    assert.equal(bins().length, 1, `at ${deviceScaleFactor} pixels a pixel: ${bins().join("\n")}`);
    const asked = Number(new URL(bins()[0]!, base).searchParams.get("bins"));
    assert.ok(asked >= 1.8 * 1000 * deviceScaleFactor, `${asked} bins`);
    await page.close();
  }
});

test("the URL is written once where a drag begins and once where it rests", async () => {
  await page.addInitScript(() => {
    const written: string[] = [];
    Object.assign(window, { written });
    for (const name of ["pushState", "replaceState"] as const) {
      const write = history[name].bind(history);
      history[name] = (...args) => {
        written.push(name);
        write(...args);
      };
    }
  });
  await open(`pv=SR:CURRENT&${SPAN}`);
  const { x, y, width, height } = await plotBox();
  await page.mouse.move(x + width / 2, y + height / 2);
  await page.keyboard.down("Shift");
  await page.mouse.down();
  for (let i = 1; i <= 60; i++) await page.mouse.move(x + width / 2 + 2 * i, y + height / 2);
  await page.mouse.up();
  await page.keyboard.up("Shift");
  const moved = 3600 * (120 / width);
  const expected = HOUR - moved;
  await page.waitForFunction((expected) => {
    const from = Date.parse(new URLSearchParams(location.search).get("from")!) / 1000;
    return Math.abs(from - expected) < 10;
  }, expected);
  const written = await page.evaluate(() => (window as unknown as { written: string[] }).written);
  assert.deepEqual(written, ["pushState", "replaceState"]);
  await page.keyboard.press("Control+z");
  await page.waitForFunction(() => location.search.includes("from=2026-11-20T10:00:00Z"));
});

test("when the archiver's clock is set back, live samples go on and nothing older is taken for final", async () => {
  await open("pv=SR:CURRENT&live=60");
  await countAfterAWhile();
  server.ahead = -120;
  const before = Date.now() / 1000 - 120;
  const newest = async () => {
    const text = await page.locator("#to").inputValue();
    assert.equal(text, "now");
    const [h, m, s] = (
      await page
        .locator("#legend .time")
        .first()
        .evaluate((cell) => cell.textContent ?? "")
    )
      .split(":")
      .map(Number);
    return h! * 3600 + m! * 60 + s!;
  };
  const clock = (at: number) => {
    const date = new Date(at * 1000);
    return date.getHours() * 3600 + date.getMinutes() * 60 + date.getSeconds();
  };
  const deadline = Date.now() + 12_000;
  // Not a number, where there is no sample, is no time either.
  while (!(Math.abs((await newest()) - clock(Date.now() / 1000 - 120)) <= 3)) {
    assert.ok(
      Date.now() < deadline,
      `the newest sample is of ${await newest()} s, the clock is ${clock(before)}`,
    );
    await page.waitForTimeout(100);
  }
  await countAfterAWhile();
});

test("a range that was loaded before the clock was set back is loaded anew, not only its missing side", async () => {
  const now = Math.floor(Date.now() / 1000);
  const iso = (at: number) => new Date(at * 1000).toISOString();
  await open(`pv=SR:LIFETIME&from=${iso(now - 7200)}&to=${iso(now - 60)}&zone=utc`);
  server.ahead = -600;
  server.requests = [];
  const lengthOf = (request: string) => {
    const { searchParams } = new URL(request, base);
    return (Date.parse(searchParams.get("to")!) - Date.parse(searchParams.get("from")!)) / 1000;
  };
  const isWhole = (request: string) => isBins(request) && lengthOf(request) > 7000;
  await until(() => server.requests.some(isWhole), "the whole range");
  await loaded();
  server.requests = [];
  await page.keyboard.press("ArrowRight");
  await until(() => server.requests.some((request) => isBins(request)), "bins");
  const [asked] = server.requests.filter((request) => isBins(request));
  const from = Date.parse(new URL(asked!, base).searchParams.get("from")!) / 1000;
  assert.ok(from <= Date.now() / 1000 - 600, `what lies behind the clock is not kept: ${asked}`);
});

test("of five thousand pasted names three wrong ones are named, and the others followed to their first values", async () => {
  server.addedState = "searching";
  await page.goto(base);
  await page.getByText("Nothing is plotted yet").waitFor();
  await page.locator("#more").click();
  await page.locator("#archive").click();
  const names = Array.from({ length: 5000 }, (_, i) => `FARM:PV${i}`);
  [names[17], names[2500], names[4999]] = ["foo://FARM:PV17", "x".repeat(70), "pva://"];
  await paste(page, "#add-names", names.join("\n"));
  await page.locator("#add-form button[type=submit]").click();
  await page.getByText("4,997 are asked for, 3 were refused.").waitFor();
  const refused = page.locator("#add-outcome li");
  assert.equal(await refused.count(), 3, "only those that are wrong have lines");
  const told = (await refused.allInnerTexts()).join("\n");
  for (const part of [
    "there is no protocol foo",
    "a PV name has 1 to 60 bytes",
    "no name behind the protocol",
  ])
    assert.ok(told.includes(part), `${part} in ${told}`);
  await page.getByText("0 of 4,997 have a first value, 4,997 wait for an IOC").waitFor();
  const added = server.pvs.filter((pv) => pv.name.startsWith("FARM:"));
  for (const pv of added.slice(0, 4990)) pv.state = "connected";
  await page.getByText("4,990 of 4,997 have a first value, 7 wait for an IOC: FARM:PV4992").waitFor();
  for (const pv of added) pv.state = "connected";
  await page.getByText("All 4,997 have a first value.").waitFor();
  await page.keyboard.press("Escape");
  await page.locator("#add").waitFor({ state: "hidden" });
  const before = sent.filter((path) => path.endsWith("/at")).length;
  // As long as the page asks twice how the archiver fares.
  for (let i = 0; i < 2; i++) await page.waitForRequest(/\/api\/v1\/status$/);
  assert.equal(sent.filter((path) => path.endsWith("/at")).length, before, "nobody asks any more");
});
