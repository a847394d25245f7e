"""Fixtures: IOCs and archivers that are always ended, whatever becomes of the test."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from archiver import Pvark, program
from disks import small_disk
from ioc import Ioc
from three_nodes import S3, Store, store_of


def pytest_sessionstart() -> None:
    if not program().exists():
        raise pytest.UsageError(f"there is no program at {program()}: run `make build` first, or set PVARK")


@pytest.fixture(scope="module")
def module_folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder for all tests of a file."""
    return tmp_path_factory.mktemp("module")


@pytest.fixture
def store(tmp_path: Path) -> Iterator[S3]:
    """What nodes of one test share: a bucket."""
    store = S3(tmp_path)
    yield store
    store.kill()


@pytest.fixture(scope="module")
def module_store(module_folder: Path) -> Iterator[Store]:
    """What nodes share of all tests of a file: a real Cassandra where there is one, else a bucket."""
    store = store_of(module_folder)
    yield store
    store.kill()


@pytest.fixture
def mount_small(tmp_path: Path) -> Iterator[Callable[[int], Path]]:
    """Mounts a disk of so many MB for one test, which is skipped where the machine does not let us."""
    with ExitStack() as mounted:

        def mount(megabytes: int) -> Path:
            folder = mounted.enter_context(small_disk(tmp_path / "disk", megabytes))
            if folder is None:
                pytest.skip("only root may mount the small disk that this test fills")
            return folder

        yield mount


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
