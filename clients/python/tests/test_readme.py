"""The examples of the README are run, and print what they say that they print."""

from __future__ import annotations

import doctest
from collections.abc import Iterator
from pathlib import Path

import numpy as np
import pytest
from archiver import started

README = Path(__file__).parents[1] / "README.md"
START = np.datetime64("2025-11-21T08:00:00", "s")


def hour(values: list[object]) -> str:
    """So many values within the hour that the README speaks of."""
    step = 3600 // len(values)
    return "".join(f"{START + step * index}Z,{value}\n" for index, value in enumerate(values))


@pytest.fixture
def url(tmp_path: Path) -> Iterator[str]:
    pytest.importorskip("pandas")
    with started(tmp_path) as archiver:
        archiver.archive.add("ca://LAB:CURRENT", "ca://LAB:STATE", "ca://LAB:TEMP")
        archiver.take("LAB:TEMP", "f64", hour([21 + index % 4 / 4 for index in range(3600)]))
        archiver.take("LAB:CURRENT", "f64", hour([float(index) for index in range(360)]))
        archiver.take("LAB:STATE", "i32", hour([index // 2 % 2 for index in range(3600)]))
        yield archiver.url


def test_the_examples_of_the_readme_are_true(url: str, capsys: pytest.CaptureFixture[str]) -> None:
    found = doctest.DocTestParser().get_doctest(README.read_text(), {"URL": url}, "README", str(README), 0)
    assert len(found.examples) > 25
    result = doctest.DocTestRunner(optionflags=doctest.ELLIPSIS, verbose=False).run(found)
    assert result.failed == 0, capsys.readouterr().out
