"""An undo of 5,000 PVs meets kill -9: all of it is done or nothing, settings to the byte, samples too."""

from __future__ import annotations

import http.client
import json
import threading
import time
from collections.abc import Callable
from typing import Any

from archiver import Pvark

COUNT = 5000
NAMES = [f"U:{number:04d}" for number in range(COUNT)]
RECORDED = NAMES[::500]
KILLS = 8


def ordered(server: Pvark, path: str, body: Any = None) -> Any:
    """An order that is carried out."""
    status, _, answer = server.request("POST", path, None if body is None else json.dumps(body).encode())
    assert status == 200, (path, status, answer[:500])
    return json.loads(answer)


def settings(server: Pvark) -> dict[str, Any]:
    """What each PV is recorded by, and since when; nothing of its connection."""
    found = {}
    connection = http.client.HTTPConnection("127.0.0.1", server.port, timeout=30)
    for name in NAMES:
        connection.request("GET", f"/api/v1/pvs/{name}")
        answer = connection.getresponse()
        pv = json.loads(answer.read())
        if answer.status == 200:
            kept = {key: pv[key] for key in ("protocol", "method", "period", "sampling", "added", "aliases")}
            found[name] = kept | {"paused": pv["state"] == "paused"}
    connection.close()
    return found


def samples(server: Pvark) -> list[bytes]:
    """All samples of the PVs that have some, or what is said where they are removed."""
    return [server.request("GET", f"/api/v1/pvs/{pv}/samples?from=2026-01-01&format=csv")[2] for pv in RECORDED]


def newest(server: Pvark) -> dict[str, Any]:
    """The order that was given last, of those that can be taken back."""
    order: dict[str, Any] = server.json("/api/v1/undo")["orders"][0]
    return order


def broken_off(server: Pvark, path: str, after: float) -> bool:
    """Gives an order and kills the archiver so many seconds later; whether it was answered before."""
    answered: list[int] = []

    def give() -> None:
        try:
            answered.append(server.request("POST", path)[0])
        except (OSError, http.client.HTTPException):
            pass

    giver = threading.Thread(target=give)
    giver.start()
    time.sleep(after)
    server.kill()
    giver.join()
    return answered == [200]


def test_an_undo_that_is_killed_is_done_or_not(start_pvark: Callable[..., Pvark]) -> None:
    server = start_pvark()
    assert ordered(server, "/api/v1/pvs", {"pvs": NAMES})["changes"] == COUNT
    ordered(
        server, "/api/v1/pvs", {"pvs": [{"name": name, "deadband": 0.1, "groups": ["odd"]} for name in NAMES[1::2]]}
    )
    for pv in RECORDED:
        server.take(pv, "f64", "".join(f"2026-03-01T00:00:{second:02d}Z,{second}\n" for second in range(60)))
    at_first, recorded = settings(server), samples(server)
    assert len(at_first) == COUNT and all(text.count(b"\n") > 60 for text in recorded), recorded[0]

    # What it takes undisturbed. Within that the kills fall, most of them early: the change is a small part of it.
    change = {"pvs": [{"name": name, "deadband": 7.5, "rate_cap": 3, "groups": []} for name in NAMES]}
    ordered(server, "/api/v1/pvs", change)
    changed = settings(server)
    assert all(changed[name] != at_first[name] for name in NAMES)
    begun = time.monotonic()
    assert ordered(server, f"/api/v1/undo/{newest(server)['number']}")["changes"] == COUNT
    took = time.monotonic() - begun
    assert settings(server) == at_first

    done, broken = 0, 0
    for kill in range(KILLS):
        removal = kill % 2 == 1
        if removal:
            ordered(server, "/api/v1/remove", {"pvs": NAMES, "data": "delete"})
        else:
            ordered(server, "/api/v1/pvs", change)
        order = newest(server)
        assert order["pvs"] == COUNT, order
        path = f"/api/v1/undo/{order['number']}"
        answered = broken_off(server, path, took * (kill / KILLS) ** 2)
        server.start()
        found = settings(server)
        if found == at_first:
            done += 1
            assert newest(server)["action"] == "undone"
        else:
            broken += 1
            assert not answered, "an undo that was acknowledged is gone"
            assert found == ({} if removal else changed), "a part of it was done"
            assert newest(server)["number"] == order["number"]
            assert ordered(server, path)["changes"] == COUNT
        assert settings(server) == at_first and samples(server) == recorded
    print(f"{KILLS} kills within {took:.2f} s: {done} times it was done, {broken} times nothing of it")
