"""How fast samples become numpy columns: `python measure_get.py URL PV [PV …]`, all recorded or a range of it."""

from __future__ import annotations

import argparse
import time

import pvark


def main() -> None:
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("url")
    arguments.add_argument("pvs", nargs="+", metavar="PV")
    arguments.add_argument("--from", dest="begin", default="1970-01-01T00:00:00Z", metavar="TIME")
    arguments.add_argument("--to", dest="end", default="2200-01-01T00:00:00Z", metavar="TIME")
    asked = arguments.parse_args()
    archive = pvark.Archiver(asked.url, timeout=600)
    begun, worked = time.perf_counter(), time.process_time()
    many = archive.get(asked.pvs, asked.begin, asked.end)
    seconds, worked = time.perf_counter() - begun, time.process_time() - worked
    samples = sum(map(len, many.values()))
    print(f"{samples:,} samples in {seconds:.2f} s, {samples / seconds / 1e6:.1f} million a second")
    print(f"of which the client worked {worked:.2f} s")


if __name__ == "__main__":
    main()
