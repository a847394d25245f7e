// How amounts of bytes are written for people; testdata/bytes.json has the cases, to which the command line is held, too.

/** `16.7 MB`: in decimal units, as disks are sold. */
export function bytesText(bytes: number): string {
  const units = ["B", "kB", "MB", "GB", "TB", "PB"];
  let step = 0;
  while (bytes >= (step === 0 ? 999.5 : 999.95) && step < units.length - 1) {
    bytes /= 1000;
    step += 1;
  }
  return `${step === 0 ? Math.round(bytes) : bytes.toFixed(bytes < 9.995 ? 2 : 1)} ${units[step]}`;
}
