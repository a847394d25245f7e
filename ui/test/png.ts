// Screenshots made small: the PNG that Chromium writes, with 256 colours and well compressed.

import assert from "node:assert/strict";
import { crc32, deflateSync, inflateSync } from "node:zlib";

const SIGNATURE = Buffer.from([0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a]);
const COLOURS = 256;

interface Image {
  width: number;
  height: number;
  /** Red, green and blue of each pixel, one behind the other. */
  rgb: Uint8Array;
}

export function smaller(png: Buffer): Buffer {
  const image = decode(png);
  const palette = paletteOf(image.rgb);
  const nearest = new Map<number, number>();
  const rows = Buffer.alloc((image.width + 1) * image.height);
  for (let y = 0, at = 0; y < image.height; y++) {
    for (let x = 0; x < image.width; x++, at += 3) {
      const colour = (image.rgb[at]! << 16) | (image.rgb[at + 1]! << 8) | image.rgb[at + 2]!;
      let index = nearest.get(colour);
      if (index === undefined) nearest.set(colour, (index = nearestOf(palette, colour)));
      rows[y * (image.width + 1) + 1 + x] = index;
    }
  }
  const header = Buffer.alloc(13);
  header.writeUInt32BE(image.width, 0);
  header.writeUInt32BE(image.height, 4);
  header.set([8, 3, 0, 0, 0], 8);
  const colours = Buffer.from(palette.flatMap((colour) => [colour >> 16, (colour >> 8) & 255, colour & 255]));
  const data = deflateSync(rows, { level: 9, memLevel: 9 });
  return Buffer.concat([
    SIGNATURE,
    chunk("IHDR", header),
    chunk("PLTE", colours),
    chunk("IDAT", data),
    chunk("IEND", Buffer.alloc(0)),
  ]);
}

/** The most frequent colour of each of the most frequent groups of like ones. */
function paletteOf(rgb: Uint8Array): number[] {
  const groups = new Map<number, Map<number, number>>();
  for (let at = 0; at < rgb.length; at += 3) {
    const [r, g, b] = [rgb[at]!, rgb[at + 1]!, rgb[at + 2]!];
    const like = ((r >> 3) << 10) | ((g >> 3) << 5) | (b >> 3);
    const colour = (r << 16) | (g << 8) | b;
    const group = groups.get(like) ?? new Map<number, number>();
    groups.set(like, group.set(colour, (group.get(colour) ?? 0) + 1));
  }
  const counted = [...groups.values()].map((group) => {
    const [colour] = [...group].reduce((a, b) => (b[1] > a[1] ? b : a));
    return { colour, count: [...group.values()].reduce((a, b) => a + b) };
  });
  const first = counted.sort((a, b) => b.count - a.count).slice(0, COLOURS);
  return first.map(({ colour }) => colour);
}

function nearestOf(palette: number[], colour: number): number {
  const part = (of: number, shift: number) => (of >> shift) & 255;
  const distance = (other: number) =>
    [16, 8, 0].reduce((sum, shift) => sum + (part(other, shift) - part(colour, shift)) ** 2, 0);
  return palette.reduce((best, other, i) => (distance(other) < distance(palette[best]!) ? i : best), 0);
}

/** What Chromium writes: 8 bits of red, green and blue, and of what shines through if anything could; not interlaced. */
function decode(png: Buffer): Image {
  const [width, height] = [png.readUInt32BE(16), png.readUInt32BE(20)];
  const [bits, colours] = png.subarray(24, 26);
  assert.ok(bits === 8 && (colours === 2 || colours === 6), "red, green and blue of 8 bits");
  const each = colours === 6 ? 4 : 3;
  const data: Buffer[] = [];
  for (let at = 8; at < png.length;) {
    const length = png.readUInt32BE(at);
    if (png.toString("latin1", at + 4, at + 8) === "IDAT") data.push(png.subarray(at + 8, at + 8 + length));
    at += 12 + length;
  }
  const raw = inflateSync(Buffer.concat(data));
  const stride = width * each;
  const pixels = new Uint8Array(stride * height);
  for (let y = 0; y < height; y++) {
    const filter = raw[y * (stride + 1)]!;
    for (let x = 0; x < stride; x++) {
      const at = y * stride + x;
      const left = x >= each ? pixels[at - each]! : 0;
      const above = y > 0 ? pixels[at - stride]! : 0;
      const corner = x >= each && y > 0 ? pixels[at - stride - each]! : 0;
      pixels[at] = raw[y * (stride + 1) + 1 + x]! + predicted(filter, left, above, corner);
    }
  }
  return { width, height, rgb: each === 3 ? pixels : pixels.filter((_, i) => i % 4 !== 3) };
}

function predicted(filter: number, left: number, above: number, corner: number): number {
  if (filter === 0) return 0;
  if (filter === 1) return left;
  if (filter === 2) return above;
  if (filter === 3) return (left + above) >> 1;
  const estimate = left + above - corner;
  const [a, b, c] = [left, above, corner].map((value) => Math.abs(estimate - value)) as [
    number,
    number,
    number,
  ];
  return a <= b && a <= c ? left : b <= c ? above : corner;
}

function chunk(kind: string, data: Buffer): Buffer {
  const body = Buffer.concat([Buffer.from(kind, "latin1"), data]);
  const [length, sum] = [Buffer.alloc(4), Buffer.alloc(4)];
  length.writeUInt32BE(data.length);
  sum.writeUInt32BE(crc32(body));
  return Buffer.concat([length, body, sum]);
}
