"""How long the beam lived, and which BPM moved as it decayed: cells (`# %%`) as of a notebook, read downwards."""

# %% The archive, and what it has of the storage ring; give PVARK_URL, BEGIN and END, or have the last eight hours.
import os

import numpy as np
import pvark

archive = pvark.Archiver(os.environ.get("PVARK_URL", "http://127.0.0.1:17665"))
begin, end = os.environ.get("BEGIN", "-8h"), os.environ.get("END", "now")
print(f"{len(archive.search('SR:*'))} PVs of the ring, {begin} to {end}")

# %% The lifetime is how fast the logarithm of the current falls.
current = archive.get("SR:CURRENT", begin, end)
hours = (current.times - current.times[0]) / np.timedelta64(1, "h")
slope, _ = np.polyfit(hours, np.log(current.values), 1)
lifetime = -1 / slope
print(f"lifetime {lifetime:.1f} h, from {current.values[0]:.4g} {current.metadata.units}")

# %% All BPMs and the current on the same times: which position follows the current?
frame = archive.aligned(["SR:CURRENT", "SR:BPM*:X"], begin, end, period=60).to_pandas().dropna()
orbit = frame.drop(columns="SR:CURRENT")
moved = orbit.max() - orbit.min()
worst = moved.idxmax()
follows = orbit[worst].corr(frame["SR:CURRENT"])
print(f"{worst} moved by {moved[worst]:.3g} {frame.attrs.get('units', {}).get(worst, '')}, correlation {follows:.2f}")

# %% A result is as good as its record: was anything lost, and why?
for pv in ("SR:CURRENT", worst):
    print(pv, archive.explain(pv, begin, end).text)
    for gap in archive.gaps(pv, begin, end):
        print("  nothing from", gap.start, "to", gap.end or "now:", gap.cause)
