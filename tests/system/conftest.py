"""Fixtures: IOCs and archivers that are always ended, whatever becomes of the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from archiver import Pvark, program
from ioc import Ioc


def pytest_sessionstart() -> None:
    if not program().exists():
        raise pytest.UsageError(f"there is no program at {program()}: run `make build` first, or set PVARK")


@pytest.fixture(scope="module")
def module_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for all tests of a file."""
    return tmp_path_factory.mktemp("module")


@pytest.fixture
def start_ioc(tmp_path: Path) -> Iterator[Callable[[str | Path], Ioc]]:
    """Starts an IOC of records for one test."""
    started: list[Ioc] = []

    def start(database: str | Path) -> Ioc:
        folder = tmp_path / f"ioc{len(started)}"
        folder.mkdir()
        started.append(Ioc.of_records(folder, database))
        return started[-1].start()

    yield start
    for ioc in started:
        ioc.kill()


@pytest.fixture
def start_pvark(tmp_path: Path) -> Iterator[Callable[..., Pvark]]:
    """Starts an archiver for one test."""
    started: list[Pvark] = []

    def start(*iocs: Ioc, more: str = "") -> Pvark:
        folder = tmp_path / f"pvark{len(started)}"
        folder.mkdir()
        started.append(Pvark(folder, iocs, more=more))
        return started[-1].start()

    yield start
    for pvark in started:
        pvark.kill()
