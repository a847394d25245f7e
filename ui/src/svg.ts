// A canvas that writes SVG: what of a canvas' context the plot uses, so that the same drawing becomes lines that scale.

interface State {
  fillStyle: string;
  strokeStyle: string;
  lineWidth: number;
  lineCap: string;
  lineJoin: string;
  globalAlpha: number;
  font: string;
  textAlign: string;
  textBaseline: string;
  dash: number[];
  dashOffset: number;
  clip: string | null;
  shift: [number, number];
}

const FIRST: State = {
  ...{ fillStyle: "#000", strokeStyle: "#000", lineWidth: 1, lineCap: "butt", lineJoin: "miter" },
  ...{ globalAlpha: 1, font: "10px sans-serif", textAlign: "start", textBaseline: "alphabetic" },
  ...{ dash: [], dashOffset: 0, clip: null, shift: [0, 0] },
};

/** How far below the place of a text its foot is, as a part of its size. */
const FOOT: Record<string, number> = { middle: 0.35, top: 0.85, bottom: -0.2 };

/** Writes down what is drawn. Widths of texts are those of a real canvas. */
export class SvgContext {
  private state: State = { ...FIRST };
  private stack: State[] = [];
  private path: string[] = [];
  private out: string[] = [];
  private defs: string[] = [];

  constructor(private ruler: CanvasRenderingContext2D) {}

  set fillStyle(colour: string) {
    this.state.fillStyle = colour;
  }
  get fillStyle(): string {
    return this.state.fillStyle;
  }
  set strokeStyle(colour: string) {
    this.state.strokeStyle = colour;
  }
  get strokeStyle(): string {
    return this.state.strokeStyle;
  }
  set lineWidth(width: number) {
    this.state.lineWidth = width;
  }
  set lineCap(cap: string) {
    this.state.lineCap = cap;
  }
  set lineJoin(join: string) {
    this.state.lineJoin = join;
  }
  set globalAlpha(alpha: number) {
    this.state.globalAlpha = alpha;
  }
  get globalAlpha(): number {
    return this.state.globalAlpha;
  }
  set lineDashOffset(offset: number) {
    this.state.dashOffset = offset;
  }
  set font(font: string) {
    this.state.font = font;
    this.ruler.font = font;
  }
  set textAlign(align: string) {
    this.state.textAlign = align;
  }
  set textBaseline(baseline: string) {
    this.state.textBaseline = baseline;
  }

  save(): void {
    this.stack.push({ ...this.state, dash: [...this.state.dash] });
  }

  restore(): void {
    this.state = this.stack.pop() ?? { ...FIRST };
    this.ruler.font = this.state.font;
  }

  setLineDash(dash: number[]): void {
    this.state.dash = [...dash];
  }

  translate(x: number, y: number): void {
    const [left, top] = this.state.shift;
    this.state.shift = [left + x, top + y];
  }

  measureText(text: string): { width: number } {
    return this.ruler.measureText(text);
  }

  beginPath(): void {
    this.path = [];
  }

  moveTo(x: number, y: number): void {
    this.path.push(`M${this.at(x, y)}`);
  }

  lineTo(x: number, y: number): void {
    this.path.push(`L${this.at(x, y)}`);
  }

  rect(x: number, y: number, width: number, height: number): void {
    this.path.push(
      `M${this.at(x, y)}L${this.at(x + width, y)}L${this.at(x + width, y + height)}L${this.at(x, y + height)}Z`,
    );
  }

  /** A whole circle: the plot draws no other arcs. */
  arc(x: number, y: number, radius: number): void {
    const r = short(radius);
    const [left, right] = [this.at(x - radius, y), this.at(x + radius, y)];
    this.path.push(`M${left}A${r} ${r} 0 1 0 ${right}A${r} ${r} 0 1 0 ${left}Z`);
  }

  clip(): void {
    const within = this.state.clip === null ? "" : ` clip-path="url(#${this.state.clip})"`;
    const id = `c${this.defs.length}`;
    this.defs.push(`<clipPath id="${id}"><path d="${this.path.join("")}"${within}/></clipPath>`);
    this.state.clip = id;
  }

  fill(): void {
    this.write(`<path d="${this.path.join("")}" ${this.filled()}/>`);
  }

  stroke(): void {
    const { strokeStyle, lineWidth, lineCap, lineJoin, dash, dashOffset } = this.state;
    const from = dashOffset === 0 ? "" : ` stroke-dashoffset="${short(dashOffset)}"`;
    const dashes = dash.length > 0 ? ` stroke-dasharray="${dash.map(short).join(" ")}"${from}` : "";
    this.write(
      `<path d="${this.path.join("")}" fill="none" stroke="${strokeStyle}" stroke-width="${short(lineWidth)}" stroke-linecap="${lineCap}" stroke-linejoin="${lineJoin}"${dashes}${this.faded()}/>`,
    );
  }

  fillRect(x: number, y: number, width: number, height: number): void {
    const [left, top] = this.state.shift;
    this.write(
      `<rect x="${short(x + left)}" y="${short(y + top)}" width="${short(Math.max(0, width))}" height="${short(Math.max(0, height))}" ${this.filled()}/>`,
    );
  }

  fillText(text: string, x: number, y: number): void {
    const { font, textAlign, textBaseline } = this.state;
    const size = Number(/([\d.]+)px/.exec(font)?.[1] ?? 10);
    const weight = /^(\d+) /.exec(font)?.[1];
    const anchor = { center: "middle", right: "end" }[textAlign] ?? "start";
    const [left, top] = this.state.shift;
    const foot = y + top + (FOOT[textBaseline] ?? 0) * size;
    this.write(
      `<text x="${short(x + left)}" y="${short(foot)}" font-size="${short(size)}"${weight ? ` font-weight="${weight}"` : ""} text-anchor="${anchor}" ${this.filled()}>${escaped(text)}</text>`,
    );
  }

  /** All that was drawn, as a file. */
  file(width: number, height: number): string {
    return [
      `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${short(width)} ${short(height)}" width="${short(width)}" height="${short(height)}" font-family="system-ui, sans-serif">`,
      ...(this.defs.length > 0 ? [`<defs>${this.defs.join("")}</defs>`] : []),
      ...this.out,
      "</svg>",
      "",
    ].join("\n");
  }

  private at(x: number, y: number): string {
    const [left, top] = this.state.shift;
    return `${short(x + left)} ${short(y + top)}`;
  }

  private filled(): string {
    return `fill="${this.state.fillStyle}"${this.faded()}`;
  }

  private faded(): string {
    const { globalAlpha } = this.state;
    return globalAlpha < 1 ? ` opacity="${short(globalAlpha)}"` : "";
  }

  private write(element: string): void {
    const { clip } = this.state;
    this.out.push(clip === null ? element : `<g clip-path="url(#${clip})">${element}</g>`);
  }
}

/** Two digits behind the point are finer than anybody sees. */
function short(value: number): string {
  return String(Math.round(value * 100) / 100);
}

function escaped(text: string): string {
  const names: Record<string, string> = { "&": "&amp;", "<": "&lt;", ">": "&gt;" };
  return text.replace(/[&<>]/g, (character) => names[character]!);
}
