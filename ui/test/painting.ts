// What a canvas takes for the same ink in different ways, as processor time of a browser's main thread, which paints without a GPU: lines of
// steps as one path, in pieces and as rectangles; columns of an envelope as one outline, in pieces and one by one.
//
//   npm run painting

import { startChromium } from "./chromium.ts";

const FRAMES = 10;
const SERIES = 6;
const [WIDE, HIGH] = [1100, 700];

const LINES = ["one path", "pieces of 16 steps", "rectangles"];
const COLUMNS = ["one outline", "pieces of 32 columns", "one by one"];

const browser = await startChromium();
try {
  const page = await browser.newPage({ viewport: { width: 1400, height: 850 } });
  await page.setContent(`<canvas width="${WIDE}" height="${HIGH}"></canvas>`);
  const session = await page.context().newCDPSession(page);
  await session.send("Performance.enable", { timeDomain: "threadTicks" });
  const taken = async () => {
    const { metrics } = await session.send("Performance.getMetrics");
    return metrics.find(({ name }) => name === "TaskDuration")!.value * 1000;
  };
  console.log(
    `${SERIES} series on ${WIDE} × ${HIGH} pixels, in milliseconds a frame, the mean of ${FRAMES}:`,
  );
  for (const [what, ways, counts] of [
    ["steps", LINES, [500, 1000, 3000]],
    ["columns", COLUMNS, [WIDE]],
  ] as const)
    for (const count of counts)
      for (const noise of [1, 0.02])
        for (const way of ways) {
          const before = await taken();
          await page.evaluate(paint, { what, way, count, noise, FRAMES, SERIES });
          await page.waitForTimeout(500);
          const millis = ((await taken()) - before) / FRAMES;
          const kind = noise === 1 ? "noise" : "a smooth signal";
          console.log(
            `  ${`${count} ${what} of ${kind}, ${way}`.padEnd(50)} ${millis.toFixed(1).padStart(7)}`,
          );
        }
} finally {
  await browser.close();
}

interface Wanted {
  what: string;
  way: string;
  count: number;
  noise: number;
  FRAMES: number;
  SERIES: number;
}

/** Runs in the page. */
async function paint({ what, way, count, noise, FRAMES, SERIES }: Wanted): Promise<void> {
  const canvas = document.querySelector("canvas")!;
  const context = canvas.getContext("2d")!;
  const { width, height } = canvas;
  const middle = (i: number) => height / 2 + (height / 3) * Math.sin((7 * i) / count);
  const off = () => (noise * height * Math.random()) / 2;
  const frame = () => new Promise((done) => requestAnimationFrame(done));
  const steps = () => {
    const [xs, ys] = [[], []] as [number[], number[]];
    for (let i = 0; i < count; i++) {
      xs.push((i * width) / count);
      ys.push(middle(i) + off() - off());
    }
    const piece = way === "one path" ? count : 16;
    if (way !== "rectangles") context.beginPath();
    for (let i = 1; i < count; i++) {
      const [x0, y0, x, y] = [xs[i - 1]!, ys[i - 1]!, xs[i]!, ys[i]!];
      if (way === "rectangles") {
        context.fillRect(x0, y0 - 0.75, x - x0, 1.5);
        context.fillRect(x - 0.75, Math.min(y0, y) - 0.75, 1.5, Math.abs(y - y0) + 1.5);
        continue;
      }
      context.lineTo(x, y0);
      context.lineTo(x, y);
      if (i % piece > 0) continue;
      context.stroke();
      context.beginPath();
      context.moveTo(x, y);
    }
    if (way !== "rectangles") context.stroke();
  };
  const columns = () => {
    const sides = Array.from(
      { length: count },
      (_, i) => [middle(i) - off(), middle(i) + off() + 1] as const,
    );
    if (way === "one by one")
      return sides.forEach(([high, low], x) => context.fillRect(x, high, 1, low - high));
    const piece = way === "one outline" ? count : 32;
    for (let from = 0; from < count; from += piece) {
      const to = Math.min(count, from + piece);
      context.beginPath();
      for (let x = from; x < to; x++) for (const end of [x, x + 1]) context.lineTo(end, sides[x]![0]);
      for (let x = to - 1; x >= from; x--) for (const end of [x + 1, x]) context.lineTo(end, sides[x]![1]);
      context.fill();
    }
  };
  [context.lineWidth, context.lineJoin, context.lineCap] = [1.5, "bevel", "round"];
  for (let n = 0; n < FRAMES; n++) {
    await frame();
    context.clearRect(0, 0, width, height);
    for (let series = 0; series < SERIES; series++) {
      context.fillStyle = context.strokeStyle = `hsl(${60 * series} 80% 40%)`;
      context.globalAlpha = what === "columns" ? 0.22 : 1;
      (what === "columns" ? columns : steps)();
    }
  }
  await frame();
  await frame();
}
