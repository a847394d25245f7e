// Who one is and what one may, in the words of the page; and where a login leads.

import assert from "node:assert/strict";
import { test } from "node:test";
import type { Me } from "../src/api.ts";
import { canLogIn, hereText, howText, mayTexts, nameOf, reaches, returnPath } from "../src/who.ts";

const NOBODY: Me = {
  ...{ who: "anonymous", how: "anonymous", groups: [], all: null, most: null, some: [], here: "administer" },
  ...{ open: false, session: false, login: { oidc: "idp.lab.example", password: true } },
};

const me = (change: Partial<Me>): Me => ({ ...NOBODY, ...change });

test("a right contains those before it, and nobody has any by having none", () => {
  assert.ok(reaches("administer", "read") && reaches("operate", "operate"));
  assert.ok(!reaches("read", "operate") && !reaches(null, "read"));
});

test("what one may is said once for each kind of PVs", () => {
  const some: Me["some"] = [
    { right: "operate", pvs: ["SR*", "LAB:*"] },
    { right: "operate", pvs: ["SR*"] },
    { right: "administer", pvs: ["~X[0-9]"] },
  ];
  assert.deepEqual(mayTexts(NOBODY), ["nothing"]);
  assert.deepEqual(mayTexts(me({ all: "read", most: "read" })), ["read all PVs"]);
  assert.deepEqual(mayTexts(me({ all: "administer", most: "administer" })), [
    "read, pause, resume, add, remove and rename all PVs",
  ]);
  assert.deepEqual(mayTexts(me({ all: "read", most: "administer", some })), [
    "read all PVs",
    "pause, resume and add SR*, LAB:*",
    "pause, resume, add, remove and rename ~X[0-9]",
  ]);
  assert.deepEqual(mayTexts(me({ most: "read", some: [{ right: "read", pvs: ["SR*"] }] })), ["read SR*"]);
});

test("of many patterns the first are told and the others counted", () => {
  const pvs = Array.from({ length: 11 }, (_, i) => `P${i}*`);
  const [told] = mayTexts(me({ most: "read", some: [{ right: "read", pvs }] }));
  assert.equal(told, "read P0*, P1*, P2*, P3*, P4*, P5*, P6*, P7* and 3 more patterns");
});

test("an address is blamed only where it may be what keeps one from more", () => {
  assert.equal(hereText(me({ all: "read", most: "read", here: "administer" })), null);
  assert.equal(hereText(me({ all: "read", most: "read", here: "operate" })), null);
  assert.equal(
    hereText(me({ all: "read", most: "read", here: "read" })),
    "At this address nobody may do more than read.",
  );
});

test("a name is told without how it is known, which is said apart", () => {
  const ana = me({ who: "oidc:ana:b", how: "oidc" });
  assert.deepEqual([nameOf(ana), howText(ana)], ["ana:b", "a login with idp.lab.example"]);
  assert.equal(nameOf(NOBODY), "anonymous");
  assert.match(howText(NOBODY), /^nothing/);
});

test("a login is offered to who is nobody yet, where there is one", () => {
  assert.ok(canLogIn(NOBODY));
  assert.ok(!canLogIn(me({ open: true })));
  assert.ok(!canLogIn(me({ who: "oidc:ana", how: "oidc" })));
  assert.ok(!canLogIn(me({ login: { oidc: null, password: false } })));
});

test("a login leads to a path of ours and nowhere else", () => {
  const origin = "http://archiver.lab.example";
  for (const ours of ["/", "/?pv=A&from=-8h", "/pv/A?x=1#y", "/api/v1/pvs?match=//x"])
    assert.equal(returnPath(ours, origin), ours);
  const foreign = [
    "//evil.example",
    "/\\evil.example",
    "/\t/evil.example",
    "\\\\evil.example",
    "/.//evil.example",
  ];
  const odd = [
    "https://evil.example/",
    "javascript:alert(1)",
    "evil",
    "",
    "/login",
    "/login?return=/login",
    "//[",
  ];
  for (const wanted of [...foreign, ...odd, null])
    assert.equal(returnPath(wanted, origin), "/", String(wanted));
});
