// Structures that are images, as areaDetector's NTNDArray: elements, how they lie, and what they are compressed with.

import type { Json } from "./api.ts";
import { numberOf } from "./decode.ts";
import { isObject } from "./nt_table.ts";

export interface Picture {
  width: number;
  height: number;
  /** One number a pixel, row by row from the top; of colours red, green and blue one after the other. */
  numbers: Float64Array;
  isColour: boolean;
}

/** Why there is nothing to be shown: it is compressed, it does not fit, there are too many pixels, or it is no plane. */
export type NoPicture =
  | { why: "compressed"; codec: string; bytes: number }
  | { why: "misfit"; dimensions: number[]; elements: number }
  | { why: "large"; dimensions: number[] }
  | { why: "dimensions"; dimensions: number[] }
  | { why: "empty" };

/** No canvas of a browser holds many more. */
const PIXELS_MAX = 16_000_000;

/** The numbers of areaDetector's attribute ColorMode: in which of the dimensions the three colours lie. */
const COLOURS_IN: Record<number, number> = { 2: 0, 3: 1, 4: 2 };

/** A structure with the fields of an image, or why it cannot be shown; none of any other value. */
export function imageOf(value: Json): Picture | NoPicture | null {
  if (!isObject(value) || !isObject(value.codec) || !Array.isArray(value.dimension)) return null;
  const dimensions = value.dimension.map((one) => (isObject(one) ? numberOf(one.size) : NaN));
  const codec = value.codec.name;
  const bytes = numberOf(value.compressedSize);
  if (typeof codec === "string" && codec !== "") return { why: "compressed", codec, bytes };
  // The elements are the one member of a union that is in use.
  const elements = isObject(value.value) ? Object.values(value.value)[0] : value.value;
  if (!Array.isArray(elements) || elements.length === 0) return { why: "empty" };
  const place = dimensions.length === 3 ? colourPlace(value.attribute, dimensions) : null;
  const plane = dimensions.filter((_, i) => i !== place);
  if (plane.length === 1) plane.push(1);
  if (plane.length !== 2 || !plane.every((size) => size > 0)) return { why: "dimensions", dimensions };
  const [width, height] = plane as [number, number];
  const isColour = place !== null;
  if (width * height > PIXELS_MAX) return { why: "large", dimensions };
  const count = width * height * (isColour ? 3 : 1);
  if (elements.length !== count) return { why: "misfit", dimensions, elements: elements.length };
  const numbers = Float64Array.from(elements, numberOf);
  return {
    width,
    height,
    isColour,
    numbers: isColour ? interleaved(numbers, width, height, place) : numbers,
  };
}

/** Which of three dimensions is that of the colours: the one that the attribute says, else one with three places; none if there is none. */
function colourPlace(attributes: Json | undefined, dimensions: number[]): number | null {
  const all = Array.isArray(attributes) ? attributes.filter(isObject) : [];
  const mode = all.find(({ name }) => name === "ColorMode")?.value;
  const said = COLOURS_IN[numberOf(mode)];
  if (said !== undefined && dimensions[said] === 3) return said;
  const found = dimensions.indexOf(3);
  return found < 0 ? null : found;
}

/** Red, green and blue of each pixel one after the other, wherever they lay. */
function interleaved(numbers: Float64Array, width: number, height: number, place: number): Float64Array {
  if (place === 0) return numbers;
  const pixels = new Float64Array(numbers.length);
  for (let y = 0; y < height; y++)
    for (let x = 0; x < width; x++)
      for (let colour = 0; colour < 3; colour++) {
        const at = place === 1 ? (y * 3 + colour) * width + x : (colour * height + y) * width + x;
        pixels[(y * width + x) * 3 + colour] = numbers[at]!;
      }
  return pixels;
}
