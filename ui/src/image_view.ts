// An image at a moment: its pixels on a canvas, as colours or grey between two numbers, with the one that is pointed at.

import { formatNumber } from "./decode.ts";
import { counted, h, setText } from "./dom.ts";
import { colourAt } from "./heat.ts";
import type { NoPicture, Picture } from "./nt_image.ts";
import { structureWords as words } from "./words/structure.ts";

/** Between these an image is as wide as it says, in parts of its height. */
const WIDE = [0.2, 8] as const;

export class ImageView {
  readonly element = h("div", { class: "nt-image" });
  private canvas = h("canvas", { tabindex: "0", role: "img" });
  private picture = h("div", { class: "nt-picture" }, this.canvas);
  private low = this.field(words.lowest);
  private high = this.field(words.highest);
  private fit = h("button", { type: "button", click: () => this.fitted() }, words.fit);
  private shades = h(
    "select",
    { "aria-label": words.shades, change: () => this.draw() },
    h("option", { value: "colour" }, words.colour),
    h("option", { value: "grey" }, words.grey),
  );
  private key = h("span", { class: "nt-key", "aria-hidden": "true" });
  private fields = h(
    "div",
    { class: "nt-fields" },
    h("label", {}, words.from, " ", this.low),
    this.key,
    h("label", {}, words.to, " ", this.high),
    this.fit,
    this.shades,
  );
  private told = h("p", { class: "hint", role: "status" });
  private shown: Picture | null = null;
  private at: { x: number; y: number } | null = null;

  /** `say` tells what is under the mouse. */
  constructor(
    private name: string,
    private say: (text: string) => void,
  ) {
    const { canvas } = this;
    canvas.addEventListener("pointermove", (event) => {
      const { width, height } = canvas.getBoundingClientRect();
      const { shown } = this;
      if (!shown) return;
      this.point(
        Math.floor((event.offsetX / width) * shown.width),
        Math.floor((event.offsetY / height) * shown.height),
      );
    });
    canvas.addEventListener("pointerleave", () => {
      this.at = null;
      this.say("");
    });
    canvas.addEventListener("keydown", (event) => this.step(event));
    this.element.append(this.picture, h("div", { class: "nt-side" }, this.fields, this.told));
  }

  private field(label: string): HTMLInputElement {
    const change = () => this.draw();
    return h("input", { type: "number", step: "any", class: "seconds", "aria-label": label, change });
  }

  show(image: Picture | NoPicture): void {
    const picture = "why" in image ? null : image;
    this.picture.hidden = picture === null;
    this.fields.hidden = picture === null || picture.isColour;
    this.shown = picture;
    if (!picture) {
      this.say("");
      setText(this.told, whyNot(image as NoPicture));
      return;
    }
    const { width, height, isColour, numbers } = picture;
    const [low, high] = extentOf(numbers);
    this.canvas.setAttribute("aria-label", words.imageOf(this.name, width, height));
    setText(
      this.told,
      words.size(
        counted(width),
        counted(height),
        isColour,
        formatNumber(low, null),
        formatNumber(high, null),
      ),
    );
    for (const [field, number] of [
      [this.low, low],
      [this.high, high],
    ] as const)
      field.placeholder = formatNumber(number, null);
    this.draw();
    if (this.at) this.point(this.at.x, this.at.y);
  }

  /** From the lowest to the highest number of each image. */
  private fitted(): void {
    this.low.value = this.high.value = "";
    this.draw();
  }

  private draw(): void {
    const { shown, canvas } = this;
    if (!shown) return;
    const { width, height, numbers, isColour } = shown;
    [canvas.width, canvas.height] = [width, height];
    // One that is very long or tall would have no height, or no width.
    canvas.style.setProperty("--wide", String(Math.min(Math.max(width / height, WIDE[0]), WIDE[1])));
    const isGrey = this.shades.value === "grey";
    const [least, most] = extentOf(numbers);
    // Bytes of colours are as bright as they say.
    const [low, high] = isColour
      ? [0, Math.max(255, most)]
      : [
          this.low.value === "" ? least : Number(this.low.value),
          this.high.value === "" ? most : Number(this.high.value),
        ];
    const image = new ImageData(width, height);
    const { data } = image;
    const steps = Array.from({ length: 256 }, (_, i) => (isGrey ? [i, i, i] : colourAt(i / 255)));
    const stops = [0, 64, 128, 191, 255].map((i) => `rgb(${steps[i]!.join(" ")})`);
    this.key.style.background = `linear-gradient(to right, ${stops.join(", ")})`;
    const part = (value: number) => (high > low ? (value - low) / (high - low) : 0.5);
    const step = (value: number) => Math.min(255, Math.max(0, Math.round(255 * part(value))));
    for (let pixel = 0; pixel < width * height; pixel++) {
      const at = pixel * 4;
      if (isColour) for (let i = 0; i < 3; i++) data[at + i] = step(numbers[pixel * 3 + i]!);
      else {
        const value = numbers[pixel]!;
        // What is no number is left clear.
        if (Number.isNaN(value)) continue;
        const colour = steps[step(value)]!;
        for (let i = 0; i < 3; i++) data[at + i] = colour[i]!;
      }
      data[at + 3] = 255;
    }
    canvas.getContext("2d")!.putImageData(image, 0, 0);
  }

  private step(event: KeyboardEvent): void {
    const by = { ArrowLeft: [-1, 0], ArrowRight: [1, 0], ArrowUp: [0, -1], ArrowDown: [0, 1] }[event.key];
    if (!by || event.ctrlKey || event.metaKey || event.altKey) return;
    event.preventDefault();
    event.stopPropagation();
    const { x, y } = this.at ?? { x: 0, y: 0 };
    const far = event.shiftKey ? 10 : 1;
    this.point(x + by[0]! * far, y + by[1]! * far);
  }

  private point(x: number, y: number): void {
    if (!this.shown) return;
    const { width, height, numbers, isColour } = this.shown;
    const at = { x: Math.min(Math.max(x, 0), width - 1), y: Math.min(Math.max(y, 0), height - 1) };
    this.at = at;
    const pixel = at.y * width + at.x;
    const values = isColour ? [...numbers.subarray(pixel * 3, pixel * 3 + 3)] : [numbers[pixel]!];
    this.say(`[${at.x}, ${at.y}] = ${values.map((value) => formatNumber(value, null)).join(", ")}`);
  }
}

function extentOf(numbers: Float64Array): [number, number] {
  let [low, high] = [Infinity, -Infinity];
  for (const number of numbers) {
    if (!Number.isFinite(number)) continue;
    if (number < low) low = number;
    if (number > high) high = number;
  }
  return low <= high ? [low, high] : [0, 1];
}

function whyNot(image: NoPicture): string {
  switch (image.why) {
    case "compressed":
      return words.compressed(image.codec, Number.isNaN(image.bytes) ? null : counted(image.bytes));
    case "misfit":
      return words.misfit(sizes(image.dimensions), counted(image.elements));
    case "large":
      return words.large(sizes(image.dimensions));
    case "dimensions":
      return words.dimensions(sizes(image.dimensions));
    case "empty":
      return words.empty;
  }
}

function sizes(dimensions: number[]): string {
  return dimensions.length === 0 ? words.noDimensions : dimensions.join(" × ");
}
