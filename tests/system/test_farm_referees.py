"""Our own servers, read by other people's clients and by the archiver: both get the same, of every type."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from archiver import Pvark
from farm import Farm
from referees import Reading, by_ca, by_pva, pva_context
from waiting import wait_for

SCALARS = ["T:f64", "T:f32", "T:i32", "T:i16", "T:u8", "T:enum", "T:string", "T:still", "T:behind", "T:rests"]
ARRAYS = ["T:W:f64", "T:W:f32", "T:W:i32", "T:W:i16", "T:W:u8", "T:W:one"]


@pytest.fixture(scope="module", params=["ca", "pva"])
def served(request: pytest.FixtureRequest, module_folder: Path) -> Iterator[tuple[str, Farm, Pvark]]:
    farm = Farm("--preset", "types", "--protocol", request.param)
    folder = module_folder / request.param
    folder.mkdir()
    server = Pvark(folder, [farm])  # type: ignore[list-item]
    try:
        server.start().archive.add(*(f"{request.param}://{name}" for name in SCALARS + ARRAYS))
        server.wait_connected(*SCALARS, *ARRAYS)
        yield request.param, farm, server
    finally:
        server.kill()
        farm.kill()


def recorded(server: Pvark, pv: str, read: Reading) -> list[Any]:
    """The values, severities and statuses of the samples with the stamp that a client has read."""
    moment = f"{read.seconds}.{read.nanos:09}"
    path = f"/api/v1/pvs/{quote(pv)}/samples?from=2000-01-01T00:00:00Z&to=2100-01-01T00:00:00Z&before=false"
    found = []
    for chunk in server.json(path)["chunks"]:
        columns = (chunk[name] for name in ("seconds", "nanos", "values", "severity", "status"))
        for seconds, nanos, value, severity, status in zip(*columns, strict=True):
            if f"{seconds}.{nanos:09}" == moment:
                found.append((value, severity, status))
    return found


@pytest.mark.parametrize("pv", SCALARS + ARRAYS)
def test_a_client_of_others_reads_what_the_archiver_records(served: tuple[str, Farm, Pvark], pv: str) -> None:
    protocol, farm, server = served
    if protocol == "ca":
        read = by_ca(farm, pv)  # type: ignore[arg-type]
    else:
        with pva_context(farm) as context:  # type: ignore[arg-type]
            read = by_pva(context, pv)
    ((value, severity, status),) = wait_for(f"the sample of {pv} that was read", lambda: recorded(server, pv, read))
    wanted = read.value
    if isinstance(value, list) and not isinstance(wanted, list):
        wanted = [wanted]  # an array of one, which caproto's synchronous client does not tell
    assert value == (pytest.approx(wanted, rel=1e-6) if "f32" in pv or "f64" in pv else wanted)
    assert (severity, status) == (read.severity, read.status)
