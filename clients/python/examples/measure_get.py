"""How fast samples become numpy columns: `python measure_get.py URL PV [PV …]`, all that is recorded of each."""

from __future__ import annotations

import sys
import time

import pvark


def main() -> None:
    url, *pvs = sys.argv[1:]
    archive = pvark.Archiver(url, timeout=600)
    begun, worked = time.perf_counter(), time.process_time()
    many = archive.get(pvs, "1970-01-01T00:00:00Z", "2200-01-01T00:00:00Z")
    seconds, worked = time.perf_counter() - begun, time.process_time() - worked
    samples = sum(map(len, many.values()))
    print(f"{samples:,} samples in {seconds:.2f} s, {samples / seconds / 1e6:.1f} million a second")
    print(f"of which the client worked {worked:.2f} s")


if __name__ == "__main__":
    main()
