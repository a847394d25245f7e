// A storage ring: a day with two trips, as the drawn screens show it; computed like all PVs of the test server.

import type { Json } from "../src/api.ts";
import { noise, number, type FixtureGap, type FixturePv } from "./pvs.ts";

const MINUTE = 60;
const H = 3600;
/** When the beam is lost, in seconds of the day, and for how long. */
const TRIPS = [
  [6 * H, 25 * MINUTE],
  [18 * H + 50 * MINUTE, 10 * MINUTE],
] as const;
/** It takes so long until all of the beam is back. */
const FILL = 15 * MINUTE;

/** So many seconds ago the last trip began, and how long it lasted. */
function since(t: number, day: number): { seconds: number; length: number } {
  const [from, length] = TRIPS.findLast(([from]) => t >= day + from) ?? [-1e9, 0];
  return { seconds: t - day - from, length };
}

/** The 20 PVs of such a day, which begins at a moment. */
export function ringPvs(day: number): FixturePv[] {
  const isDown = (t: number) => {
    const { seconds, length } = since(t, day);
    return seconds < length;
  };
  const of = (
    name: string,
    units: string,
    description: string,
    value: FixturePv["value"],
    severity: (value: Json, k: number) => number = () => 0,
    gaps: FixtureGap[] = [],
  ) =>
    number(name, units, 10, value, {
      ...{ severity, gaps },
      metadata: { type: "f64", units, precision: units === "mbar" ? null : 2, description },
    });
  const current = (k: number, t: number) => {
    const { seconds, length } = since(t, day);
    const full = 300 + 0.8 * (noise(k) - 0.5);
    return seconds < length ? 0.02 : seconds < length + FILL ? (full * (seconds - length)) / FILL : full;
  };
  const cavity = (n: number, full: number) =>
    of(
      `SR-RF-CAV${n}:FWD`,
      "kW",
      `RF ${n} forward`,
      (k, t) => (isDown(t) ? 5 - n / 3 : full) + 0.5 * (noise(k * 7 + n) - 0.5),
      (v) => (Number(v) < 10 ? 2 : 0),
    );
  const position = (n: number, at: number) =>
    of(
      `SR-DI-BPM${String(n).padStart(2, "0")}:X`,
      "µm",
      `BPM ${n}, horizontal`,
      (k, t) => at + 6 * Math.sin((t - day) / 14_000 + n) + 5 * (noise(k * 13 + n) - 0.5),
      (_, k) => (isDown(k * 10) ? 3 : 0),
    );
  const lost: FixtureGap = {
    ...{ from: day + 13 * H + 20 * MINUTE, to: day + 14 * H + 11 * MINUTE },
    ...{ cause: "disconnected", lost: 0, scope: "pv" },
  };
  const pump = (n: number, base: number, gaps: FixtureGap[]) =>
    of(
      `SR-VA-IP${n}:P`,
      "mbar",
      `Ion pump ${n}, pressure`,
      (k, t) => base * (1 + 25 * Math.exp(-since(t, day).seconds / (2 * H))) * (1 + 0.1 * noise(k + n)),
      (v) => (Number(v) > 2e-8 ? 1 : 0),
      gaps,
    );
  const water = (name: string, description: string, at: number) =>
    of(`SR-CW-RF:${name}`, "°C", description, (k, t) => {
      return at + 0.35 * Math.sin((2 * Math.PI * (t - day - 9 * H)) / (24 * H)) + 0.06 * noise(k);
    });
  const state = (name: string, labels: string[], description: string, value: (t: number) => number) =>
    number(name, "", 10, (_, t) => value(t), {
      ...{ type: "enum", metadata: { type: "enum", labels, description }, gaps: [] },
    });
  return [
    of("SR-DI-DCCT:I", "mA", "Beam current", current, (v) => (Number(v) < 1 ? 2 : 0)),
    ...[58, 49, 40.5, 32].map((full, i) => cavity(i + 1, full)),
    ...[-82, -62, -34, -14, 10, 42, 62, 84].map((at, i) => position(7 + 6 * i, at)),
    pump(12, 2.1e-10, []),
    pump(13, 6.3e-10, [lost]),
    pump(14, 2e-9, [lost]),
    water("T-IN", "Cooling water of the RF, in", 23.1),
    water("T-OUT", "Cooling water of the RF, out", 24),
    state("SR-OP:MODE", ["User beam", "Beam lost", "Injection"], "Mode of operation", (t) => {
      const { seconds, length } = since(t, day);
      return seconds < length ? 1 : seconds < length + FILL ? 2 : 0;
    }),
    state("FE-ID07:SHUTTER", ["Closed", "Open"], "Front end 7, shutter", (t) => {
      return t - day > 13 * H && t - day < 15 * H + 10 * MINUTE ? 1 : 0;
    }),
  ];
}

/** What somebody finds who looks for vacuum 12: some of them lost since a moment. */
export function vacuumPvs(since: number): FixturePv[] {
  const lost: FixtureGap = { from: since, to: null, cause: "disconnected", lost: 0, scope: "pv" };
  const of = (name: string, description: string, units: string, value: number, isLost = false) =>
    number(name, units, 1, (k) => value * (1 + 0.02 * noise(k)), {
      metadata: { type: "f64", units, precision: units === "mbar" ? null : 2, description },
      ...(isLost ? { state: "disconnected" as const, gaps: [lost] } : { gaps: [] }),
    });
  return [
    of("SR-VA-IP12:P", "Ion pump 12, pressure", "mbar", 2.1e-10, true),
    of("SR-VA-IP12:I", "Ion pump 12, current", "µA", 0.42, true),
    of("SR-VA-IP12:U", "Ion pump 12, voltage", "V", 5002, true),
    number("SR-VA-GV12:STATE", "", 10, () => 1, {
      ...{ type: "enum", gaps: [] },
      metadata: { type: "enum", labels: ["Closed", "Open"], description: "Gate valve 12" },
    }),
    of("SR-VA-CG12:P", "Cold cathode gauge 12", "mbar", 3e-10),
    of("BO-VA-IP12:P", "Booster, ion pump 12", "mbar", 8.8e-9),
    of("BO-VA-IP12:I", "Booster, ion pump 12", "µA", 1.9),
    of("FE-VA-IP12:P", "Front end 12, ion pump", "mbar", 6.1e-10),
    of("FE-VA-IP12:I", "Front end 12, ion pump", "µA", 0.31),
    ...Array.from({ length: 5 }, (_, i) =>
      of(`TL-VA-IP12:P${i + 1}`, `Transfer line, ion pump 12, sensor ${i + 1}`, "mbar", 4e-9 * (i + 1)),
    ),
  ];
}
