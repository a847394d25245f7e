// Who one is and what one may, in words. What is said here is computed from the archiver's answer alone.

import type { Me, Right } from "./api.ts";
import { loginWords as words } from "./words/login.ts";

const RIGHTS: Right[] = ["read", "operate", "administer"];

/** More patterns than this are counted, not listed. */
const PATTERNS_TOLD_MAX = 8;

/** Whether somebody may that much. */
export function reaches(have: Right | null, needed: Right): boolean {
  return have !== null && RIGHTS.indexOf(have) >= RIGHTS.indexOf(needed);
}

export function isAnonymous(me: Me): boolean {
  return me.how === "anonymous" || me.how === "address";
}

/** Whether logging in is possible, and would change anything. */
export function canLogIn(me: Me): boolean {
  return !me.open && isAnonymous(me) && (me.login.oidc !== null || me.login.password);
}

/** The name without how it is known. */
export function nameOf(me: Me): string {
  const prefix = `${me.how}:`;
  return me.who.startsWith(prefix) ? me.who.slice(prefix.length) : me.who;
}

/** How the archiver knows who it is. */
export function howText(me: Me): string {
  switch (me.how) {
    case "oidc":
      return words.byOidc(me.login.oidc ?? words.someProvider);
    case "ldap":
      return words.byPassword;
    case "certificate":
      return words.byCertificate;
    case "token":
      return words.byToken;
    case "proxy":
      return words.byProxy;
    case "local":
      return words.byMachine;
    default:
      return words.byNothing;
  }
}

/** What one may do, a line for each kind of PVs: “read all PVs”, “pause, resume and add SR*”. */
export function mayTexts(me: Me): string[] {
  const lines = me.all === null ? [] : [words.allPvs(verbs(null, me.all))];
  for (const right of RIGHTS) {
    const patterns = me.some.filter((scope) => scope.right === right).flatMap((scope) => scope.pvs);
    if (patterns.length > 0 && !reaches(me.all, right))
      lines.push(`${verbs(me.all, right)} ${listed(patterns)}`);
  }
  return lines.length > 0 ? lines : [words.nothing];
}

/** What this address keeps from everybody, where that may be what keeps it from whoever asks. */
export function hereText(me: Me): string | null {
  if (me.here === "administer" || me.most !== me.here) return null;
  return words.mostHere(verbs(null, me.here));
}

/** The verbs from above one right up to another. */
function verbs(above: Right | null, right: Right): string {
  const steps = RIGHTS.slice(above === null ? 0 : RIGHTS.indexOf(above) + 1, RIGHTS.indexOf(right) + 1);
  const verbs = steps.flatMap((step) => words.verbs[step]);
  return verbs.length < 2 ? verbs.join("") : words.and(verbs.slice(0, -1).join(", "), verbs.at(-1)!);
}

function listed(patterns: string[]): string {
  const told = [...new Set(patterns)];
  const rest = told.length - PATTERNS_TOLD_MAX;
  return `${told.slice(0, PATTERNS_TOLD_MAX).join(", ")}${rest > 0 ? words.morePatterns(rest) : ""}`;
}

/** Where to go after a login: a path of ours, whatever a link says. */
export function returnPath(wanted: string | null, origin: string): string {
  if (!wanted?.startsWith("/")) return "/";
  let url: URL;
  try {
    // Browsers leave out some characters and take a backslash for a slash: what they make of it counts.
    url = new URL(wanted, origin);
  } catch {
    return "/";
  }
  const isOurs = url.origin === origin && !url.pathname.startsWith("//");
  return isOurs && !isLogin(url.pathname) ? url.pathname + url.search + url.hash : "/";
}

/** Whether a path is that of the page which is there to log in. */
export function isLogin(path: string): boolean {
  return path.endsWith("/login");
}
