"""The archiver as an object: one method a question."""

from __future__ import annotations

import json
from collections.abc import Iterator
from datetime import timedelta
from typing import Any

from . import _decode
from ._errors import UnexpectedAnswer
from ._models import Account, Bins, Explanation, Gap, Metadata, Pv, Samples, Status, Update
from ._times import Moment, to_iso
from ._transport import Transport, quoted

PAGE = 1000


class Archiver:
    """A pvark archiver at a URL. Holds no connection: it can be kept for ever and used from several threads."""

    def __init__(self, url: str = "http://127.0.0.1:17665", timeout: float = 60.0) -> None:
        self._http = Transport(url, timeout)

    def search(self, match: str = "", limit: int = 100) -> list[Pv]:
        """PVs whose name contains `match`, or fits it as a glob (`*`, `?`) or, after `~`, as a regular expression."""
        found: list[Pv] = []
        while len(found) < limit:
            query = {"match": match or None, "limit": min(PAGE, limit - len(found)), "offset": len(found)}
            answer = self._http.json("GET", "/pvs", query)
            found += map(_decode.pv, answer["pvs"])
            if not answer["pvs"] or len(found) >= answer["total"]:
                break
        return found

    def pv(self, name: str) -> Pv:
        """One PV with everything that the archiver knows about it."""
        return _decode.pv(self._http.json("GET", f"/pvs/{quoted(name)}"))

    def get(
        self,
        pv: str,
        t0: Moment | None = None,
        t1: Moment | None = None,
        *,
        before: bool = False,
        limit: int | None = None,
    ) -> Samples:
        """Samples with t0 <= time < t1. `t1` defaults to now, `t0` to an hour before it; `before` adds the last one
        at or before t0, so that the value at t0 is known."""
        query = _range(t0, t1) | {"before": "true" if before else "false", "limit": limit}
        return _decode.samples(self._http.json("GET", f"/pvs/{quoted(pv)}/samples", query))

    def table(self, pv: str, t0: Moment | None = None, t1: Moment | None = None, *, before: bool = False) -> Any:
        """The same as a pyarrow Table, without parsing a single number; needs pyarrow, and one type in the range."""
        import pyarrow

        query = _range(t0, t1) | {"before": "true" if before else "false", "format": "arrow"}
        answer = self._http.read("GET", f"/pvs/{quoted(pv)}/samples", query)
        try:
            return pyarrow.ipc.open_stream(answer).read_all()
        except pyarrow.ArrowInvalid as error:
            raise UnexpectedAnswer(f"the stream of {pv} broke off: {error}") from error

    def bins(
        self, pv: str, t0: Moment | None = None, t1: Moment | None = None, count: int = 1000, *, align: bool = False
    ) -> Bins:
        """The same range cut into `count` equal parts, with minimum, maximum, means, deviation, first and last of each.
        With `align` the parts are at most so many, of a round length, and begin at multiples of it since 1970: the
        fastest answer for a long range."""
        query = _range(t0, t1) | {"bins": count, "align": "true" if align else "false"}
        return _decode.bins(self._http.json("GET", f"/pvs/{quoted(pv)}/bins", query))

    def gaps(self, pv: str, t0: Moment | None = None, t1: Moment | None = None) -> list[Gap]:
        """When, and why, the PV was not recorded."""
        answer = self._http.json("GET", f"/pvs/{quoted(pv)}/gaps", _range(t0, t1))
        return [_decode.gap(gap) for gap in answer["gaps"]]

    def ledger(
        self, pv: str, t0: Moment | None = None, t1: Moment | None = None, step: timedelta = timedelta(minutes=1)
    ) -> list[Account]:
        """What became of every update, in steps of whole minutes; those of which nothing is known are left out."""
        query = _range(t0, t1) | {"step": round(step.total_seconds())}
        answer = self._http.json("GET", f"/pvs/{quoted(pv)}/ledger", query)
        return [_decode.account(step) for step in answer["steps"]]

    def explain(self, pv: str, t0: Moment | None = None, t1: Moment | None = None, proof: str = "auto") -> Explanation:
        """Why there is no data, or not all. `proof` may be `counter`, where the value rises by one with each update, or
        `pulse`."""
        query = _range(t0, t1) | {"proof": proof}
        return _decode.explanation(self._http.json("GET", f"/pvs/{quoted(pv)}/explain", query))

    def metadata(self, pv: str, t0: Moment | None = None, t1: Moment | None = None) -> list[Metadata]:
        """Units, limits and labels: those in force at t0 first, then each change."""
        answer = self._http.json("GET", f"/pvs/{quoted(pv)}/metadata", _range(t0, t1))
        return [_decode.metadata(entry) for entry in answer["metadata"]]

    def status(self) -> Status:
        """How the archiver is doing."""
        return _decode.status(self._http.json("GET", "/status"))

    def add(self, *names: str, period: float | None = None) -> dict[str, str]:
        """Archives PVs, `ca://NAME` or `pva://NAME`, every change or once a `period` in seconds. Gives what became
        of each: added, already_archived, changed or refused."""
        how: dict[str, object] = {} if period is None else {"method": "scan", "period": period}
        answer = self._http.json("POST", "/pvs", body={"pvs": [{"name": name} | how for name in names]})
        return {entry["name"]: entry["status"] for entry in answer["pvs"]}

    def pause(self, pv: str) -> str:
        """Stops recording; the data stays."""
        return self._changed("POST", pv, "/pause")

    def resume(self, pv: str) -> str:
        """Records again."""
        return self._changed("POST", pv, "/resume")

    def remove(self, pv: str, *, delete_data: bool = False) -> str:
        """Forgets the PV; its data stays, hidden until the PV is added again, unless it is to be deleted."""
        return self._changed("DELETE", pv, "", {"data": "delete" if delete_data else "keep"})

    def live(self, *pvs: str, since: Moment | None = None) -> Iterator[Update]:
        """New samples and changes of connection as they come, for ever. Ends with ConnectionFailed."""
        kind = ""
        for line in self._http.lines("/live", {"pv": pvs, "from": None if since is None else to_iso(since)}):
            name, _, text = line.partition(": ")
            if name == "event":
                kind = text
            elif name == "data":
                data = json.loads(text)
                if kind == "samples":
                    yield Update(data["pv"], _decode.samples({"pv": data["pv"], "chunks": [data]}), None)
                elif kind == "state":
                    yield Update(data["pv"], None, data["state"])

    def _changed(self, method: str, pv: str, action: str, query: dict[str, object] | None = None) -> str:
        return str(self._http.json(method, f"/pvs/{quoted(pv)}{action}", query)["status"])


def _range(t0: Moment | None, t1: Moment | None) -> dict[str, object]:
    return {"from": None if t0 is None else to_iso(t0), "to": None if t1 is None else to_iso(t1)}
