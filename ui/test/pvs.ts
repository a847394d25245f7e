// The PVs of the test server: what each reads at any moment is computed, so that every run sees the same.

import type { Json, Metadata, PvState } from "../src/api.ts";

export interface FixtureGap {
  from: number;
  to: number | null;
  cause: string;
  lost: number;
  scope: "pv" | "archiver";
}

export interface FixturePv {
  name: string;
  protocol: "ca" | "pva";
  type: string | null;
  metadata: Metadata;
  /** Seconds between samples; sample k is taken at k times this. */
  period: number;
  value(k: number, t: number): Json;
  severity(value: Json, k: number): number;
  state: PvState;
  gaps: FixtureGap[];
  /** When its first sample was taken, where that is not when the archive begins. */
  first?: number;
}

/** The archive begins here. */
export const FIRST = Date.parse("2026-01-01T00:00:00Z") / 1000;
/** An hour with everything in it: the browser tests look at it. */
export const HOUR = Date.parse("2026-11-20T10:00:00Z") / 1000;

/** A gap of ten minutes within that hour. */
const LOST: FixtureGap = { from: HOUR + 1200, to: HOUR + 1800, cause: "disconnected", lost: 0, scope: "pv" };
const STOPPED: FixtureGap = {
  from: HOUR + 2700,
  to: HOUR + 2880,
  cause: "archiver_stopped",
  lost: 0,
  scope: "archiver",
};

/** A number between 0 and 1 that looks random but only depends on k. */
export function noise(k: number): number {
  let x = (k | 0) ^ 0x9e3779b9;
  x = Math.imul(x ^ (x >>> 16), 0x85ebca6b);
  x = Math.imul(x ^ (x >>> 13), 0xc2b2ae35);
  return ((x ^ (x >>> 16)) >>> 0) / 2 ** 32;
}

const sine = (t: number, period: number) => Math.sin((2 * Math.PI * t) / period);
const fine = () => 0;

export function number(
  name: string,
  units: string,
  period: number,
  value: FixturePv["value"],
  more: Partial<FixturePv> = {},
): FixturePv {
  const metadata = { type: "f64", units, precision: 3 };
  return {
    ...{
      name,
      protocol: "ca",
      type: "f64",
      metadata,
      period,
      value,
      severity: fine,
      state: "connected",
      gaps: [STOPPED],
    },
    ...more,
  };
}

function temperature(n: number): FixturePv {
  const value = (k: number, t: number) =>
    22 + n + 0.6 * sine(t + 300 * n, 1800 + 200 * n) + 0.15 * noise(k + n);
  const severity = (v: Json) => (Number(v) > 23.7 + n - 0.2 ? 2 : Number(v) > 22.4 + n ? 1 : 0);
  const metadata = {
    ...{ type: "f64", units: "degC", precision: 3 },
    description: `Cooling water, loop ${n}`,
  };
  return number(`LAB:TEMP${n}`, "degC", 2, value, { severity, metadata });
}

const STATES = ["Off", "Standby", "Ramping", "Beam on", "Fault"];

export function fixturePvs(): FixturePv[] {
  return [
    number(
      "SR:CURRENT",
      "mA",
      0.1,
      // One sample in 7919 is a spike: a fifth of a second in an hour that must still be seen in a year.
      (k, t) => (k % 7919 === 7 ? 460 : 300 + 12 * sine(t, 2400) + 1.5 * (noise(k) - 0.5)),
      { severity: (v) => (Number(v) > 400 ? 2 : 0), gaps: [LOST, STOPPED] },
    ),
    number("SR:LIFETIME", "h", 1, (k, t) => 11 + 0.8 * sine(t, 2400) + 0.1 * noise(k)),
    number("VAC:GAUGE1", "mbar", 1, (k, t) => 10 ** (-9 + 2 * Math.max(0, sine(t, 3000)) + 0.1 * noise(k)), {
      metadata: { type: "f64", units: "mbar", precision: 2 },
    }),
    temperature(1),
    temperature(2),
    temperature(3),
    number("LAB:SETPOINT", "degC", 900, (k) => 23 + (k % 3) / 2),
    number("LAB:RAW", "", 1, (k) => String(2n ** 60n + BigInt(k)), {
      type: "u64",
      metadata: { type: "u64", units: "" },
    }),
    number("SR:MODE", "", 420, (k) => [3, 3, 1, 2, 3, 4, 0][k % 7]!, {
      type: "enum",
      metadata: { type: "enum", labels: STATES },
      severity: (v) => (v === 4 ? 2 : 0),
    }),
    number("SR:SHUTTER", "", 610, (k) => k % 2 === 0, {
      type: "bool",
      protocol: "pva",
      metadata: { type: "bool" },
    }),
    number(
      "SR:MESSAGE",
      "",
      300,
      (k) => ["Injecting", "Decay mode", "Top-up at 300 mA", "Waiting for operator"][k % 4]!,
      {
        type: "string",
        metadata: { type: "string" },
      },
    ),
    number(
      "BPM:WAVE",
      "um",
      1,
      (k) =>
        Array.from(
          { length: 256 },
          (_, i) => Math.round(1000 * (Math.sin((i + k) / 9) + 0.3 * noise(i + k))) / 1000,
        ),
      { type: "f64[]", protocol: "pva", metadata: { type: "f64[]", units: "um" } },
    ),
    number("BPM:TABLE", "", 5, (k) => ({ turn: k, columns: { x: [1, 2, 3], label: "orbit" } }), {
      type: "structure",
      protocol: "pva",
      metadata: { type: "structure" },
    }),
    number("LAB:OFFLINE", "V", 1, (k) => 5 + noise(Math.floor(k / 60)), {
      state: "disconnected",
      severity: () => 3,
    }),
    number("LAB:NEVER", "", 1, () => null, { type: null, state: "searching", metadata: {}, gaps: [] }),
  ];
}

/** A waveform in one frame of which, within the hour, one element stands out, downwards. */
export function spikedPv(): FixturePv {
  const at = HOUR + 1000;
  const frame = (_: number, t: number) =>
    Array.from({ length: 600 }, (_, i) =>
      t === at && i === 127 ? -95 : Math.round(200 * Math.sin(i / 40)) / 10,
    );
  return number("BPM:SPIKED", "um", 1, frame, { type: "f64[]", metadata: { type: "f64[]", units: "um" } });
}

/** Structures: a table, images, one in colours, and one that is compressed. */
export function structurePvs(): FixturePv[] {
  const structure = (name: string, period: number, value: FixturePv["value"]) =>
    number(name, "", period, value, {
      ...{ type: "structure", protocol: "pva", metadata: { type: "structure" } },
    });
  const table = (k: number) => ({
    labels: ["Position", "X", "Y", "Monitor"],
    value: {
      s: Array.from({ length: 480 }, (_, i) => i * 1.1),
      x: Array.from({ length: 480 }, (_, i) => Math.round(1e4 * Math.sin(i / 20 + k)) / 1e3),
      y: Array.from({ length: 480 }, (_, i) => Math.round(1e4 * Math.cos(i / 33 + k)) / 1e3),
      name: Array.from({ length: 480 }, (_, i) => `BPM${i + 1}`),
    },
    descriptor: "orbit",
  });
  const image = (sizes: number[], member: string, elements: Json, mode: number, codec = "") => ({
    ...{ value: { [member]: elements }, codec: { name: codec, parameters: null } },
    ...{ compressedSize: "4711", uncompressedSize: "60000", uniqueId: 7 },
    dimension: sizes.map((size) => ({ size, offset: 0, fullSize: size, binning: 1, reverse: false })),
    attribute: [{ name: "ColorMode", value: mode, descriptor: "Color mode", sourceType: 0, source: "" }],
  });
  const beam = (k: number) =>
    Array.from({ length: 200 * 150 }, (_, i) => {
      const [x, y] = [(i % 200) - 100 - 8 * Math.sin(k), Math.floor(i / 200) - 75];
      return Math.round(3000 * Math.exp(-(x * x) / 900 - (y * y) / 400) + 40 * noise(i + k));
    });
  const colours = Array.from({ length: 60 * 40 * 3 }, (_, i) => {
    const [x, y] = [Math.floor(i / 3) % 60, Math.floor(i / 180)];
    return [x * 4, y * 6, 128][i % 3]!;
  });
  return [
    structure("SR:ORBIT", 10, table),
    structure("CAM:BEAM", 10, (k) => image([200, 150], "ushortValue", beam(k), 0)),
    structure("CAM:COLOUR", 10, () => image([3, 60, 40], "ubyteValue", colours, 2)),
    structure("CAM:PACKED", 10, () => image([200, 150], "ubyteValue", [1, 2, 3], 0, "jpeg")),
  ];
}

/** So many numbers of four units with a sample every ten minutes for two years: alarms now and then, some with a gap. */
export function yearPvs(count: number): FixturePv[] {
  const period = 600;
  return Array.from({ length: count }, (_, i) => {
    const value = (k: number, t: number) =>
      i + sine(t, 86_400 * (20 + i)) + 0.4 * noise(k * 31 + i) + (k % 9973 === 17 * i ? 3 : 0);
    const severity = (v: Json) => (Number(v) > i + 1.3 ? 1 : 0);
    const lost = HOUR - (30 + 13 * i) * 86_400;
    const gap = { from: lost, to: lost + 86_400, cause: "disconnected", lost: 0, scope: "pv" as const };
    return number(`YEAR:PV${i}`, ["mA", "kW", "um", "mbar"][i % 4]!, period, value, {
      severity,
      gaps: i % 4 === 0 ? [gap] : [],
      first: HOUR - 2 * 365 * 86_400,
    });
  });
}

/** So many PVs of all kinds, as they come together on a page: long names and short, with units and without, states and texts. */
export function mixedPvs(count: number): FixturePv[] {
  const kinds = fixturePvs().filter((pv) => !["structure", "f64[]"].includes(pv.type ?? ""));
  const units = ["mA", "degC", "mbar", "kV", "", "l/min", "um", "1/s"];
  return Array.from({ length: count }, (_, i) => {
    const kind = kinds[(i * 5) % kinds.length]!;
    const isLong = i % 3 === 2;
    const name = isLong
      ? `SR-C${String(i).padStart(2, "0")}-VA{Gauge:CCG-12}Pressure-I_RBV`
      : `MIX:${kind.name}:${i}`;
    if (kind.type !== "f64" || i % 2 === 0) return { ...kind, name };
    return { ...kind, name, metadata: { ...kind.metadata, units: units[i % units.length]! } };
  });
}
