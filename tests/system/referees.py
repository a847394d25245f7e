"""What other people's clients read from an IOC: the measure for what the archiver recorded."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from caproto.sync import client as caproto_client
from ioc import Ioc
from p4p.client.thread import Context

EPICS_EPOCH = 631_152_000


@dataclass(frozen=True)
class Reading:
    """A value with its stamp and alarm, in plain Python."""

    value: Any
    seconds: int
    nanos: int
    severity: int
    status: int


def plain(value: Any) -> Any:
    """Numbers, texts and lists of them, whatever library they come from."""
    if isinstance(value, bytes):
        return value.decode()
    if hasattr(value, "tolist"):
        return plain(value.tolist())
    if isinstance(value, list):
        return [plain(element) for element in value]
    return value


@contextmanager
def environment_of(ioc: Ioc) -> Iterator[None]:
    """The variables of this process, for as long as caproto looks at them."""
    before = dict(os.environ)
    os.environ.update(ioc.environment())
    try:
        yield
    finally:
        os.environ.clear()
        os.environ.update(before)


def by_ca(ioc: Ioc, pv: str) -> Reading:
    """Read by caproto."""
    with environment_of(ioc):
        answer = caproto_client.read(pv, data_type="time", repeater=False, timeout=5)
    stamp = answer.metadata.stamp
    value = plain(list(answer.data))
    if answer.data_count == 1:
        value = value[0]
    seconds = stamp.secondsSinceEpoch + EPICS_EPOCH
    return Reading(value, seconds, stamp.nanoSeconds, int(answer.metadata.severity), int(answer.metadata.status))


def described_by_ca(ioc: Ioc, pv: str) -> Any:
    """Units, limits and precision, or labels, as caproto reads them."""
    with environment_of(ioc):
        return caproto_client.read(pv, data_type="control", repeater=False, timeout=5).metadata


@contextmanager
def pva_context(ioc: Ioc) -> Iterator[Context]:
    """A pvAccess client that sees this IOC only."""
    context = Context("pva", conf=ioc.environment(), useenv=False, nt=False)
    try:
        yield context
    finally:
        context.close()


def by_pva(context: Context, pv: str) -> Reading:
    """Read by p4p."""
    answer = context.get(pv, timeout=5)
    value = answer.value.index if answer.getID().startswith("epics:nt/NTEnum") else answer.value
    stamp, alarm = answer.timeStamp, answer.alarm
    return Reading(plain(value), stamp.secondsPastEpoch, stamp.nanoseconds, alarm.severity, alarm.status)
