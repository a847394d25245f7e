"""Ports that nobody else uses: below the range from which the kernel gives ports to outgoing connections."""

from __future__ import annotations

import os
import socket
from collections.abc import Iterator

FIRST, LAST = 20_000, 32_000


def _free(port: int) -> bool:
    for kind in (socket.SOCK_STREAM, socket.SOCK_DGRAM):
        with socket.socket(socket.AF_INET, kind) as probe:
            try:
                probe.bind(("127.0.0.1", port))
            except OSError:
                return False
    return True


def _ports() -> Iterator[int]:
    start = FIRST + os.getpid() * 97 % (LAST - FIRST)
    for port in [*range(start, LAST), *range(FIRST, start)]:
        if _free(port):
            yield port


_GIVEN = _ports()


def free_port() -> int:
    """A port that is free for TCP and UDP, and that no other call in this process gets."""
    return next(_GIVEN)
