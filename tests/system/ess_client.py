"""What ESS's client of the Archiver Appliance makes of an archive, as JSON: its protobuf is not that of the other
clients, so it runs in a process of its own. Arguments: port, beginning, end, names."""

from __future__ import annotations

import json
import sys
from datetime import datetime
from typing import Any

from epicsarchiver import ArchiverAppliance
from epicsarchiver.retrieval.client.processor import Processor, ProcessorName


def events(client: Any, pv: str, begin: datetime, end: datetime, processor: Any = None) -> list[list[Any]]:
    """Time, value, severity and status of each, and the fields that it carries."""
    _, found = client.get_events(pv, begin, end, processor)
    return [[one.timestamp_ns, one.val, one.severity, one.status, one.field_values_dict] for one in found]


def main() -> None:
    port, begin, end, *names = sys.argv[1:]
    client = ArchiverAppliance("127.0.0.1", int(port))
    first, last = datetime.fromisoformat(begin), datetime.fromisoformat(end)
    told: dict[str, Any] = {"search": client.search("N:.*")}
    told["search_in_time"] = client.search("N:(double|count)", start=first, end=last)
    told["samples"] = {name: events(client, name, first, last) for name in names}
    told["unknown"] = ""
    try:
        client.get_events("N:nowhere", first, last)
    except Exception as error:
        told["unknown"] = type(error).__name__
    told["operators"] = {}
    for name in ProcessorName:
        bins = None if name in (ProcessorName.NCOUNT, ProcessorName.DEADBAND) else 1
        told["operators"][name.value] = events(client, "N:double", first, last, Processor(name, bins))
    json.dump(told, sys.stdout)


main()
