"""Waiting for something to become true, with a deadline instead of a hopeful sleep."""

from __future__ import annotations

import time
from collections.abc import Callable
from typing import TypeVar

T = TypeVar("T")


def wait_for(what: str, check: Callable[[], T | None], seconds: float = 20.0, every: float = 0.05) -> T:
    """The first true answer of `check`, which may raise OSError meanwhile."""
    deadline = time.monotonic() + seconds
    last: object = None
    while time.monotonic() < deadline:
        try:
            answer = check()
            if answer:
                return answer
            last = answer
        except (OSError, AssertionError) as error:
            last = error
        time.sleep(every)
    raise AssertionError(f"after {seconds:g} s still waiting for {what}; last seen: {last!r}")
