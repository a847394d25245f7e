"""kill -9 a program that uses the store directly, again and again: what it called durable is there, all of it once.

    python tests/system/kill_loop.py --folder target/kills --cycles 1000 [--seed N]

The folder remembers seed, cycle and what was promised; a loop that was interrupted goes on where it was. Each cycle
starts `victim` (crates/store/examples/victim), which verifies the archive, then appends under load, renames, deletes,
imports, purges and removes PVs while weeks are sealed and move to another folder, and kills it
after 0 to 0.6 s, one time in five while it still opens. Every 25th cycle verifies every sample, the others the newest.
In every 10th cycle a backup and a check work on the archive meanwhile, and are killed with it every other time; what
the backup copied is then verified, and with the next backup it is whole.
After 100 cycles a new archive is begun. The last archive is kept; that of a failure is kept for whoever wants to look.
"""

from __future__ import annotations

import argparse
import json
import os
import random
import shutil
import subprocess
import sys
import threading
import time
from dataclasses import asdict, dataclass, field
from pathlib import Path

ROOT = Path(__file__).parents[2]
ARCHIVE_CYCLES = 100
FULL_CYCLES = 25
BESIDE_CYCLES = 10
BESIDE_SECONDS = 120
# So many PVs that are changed step by step are remembered.
STAGES_MAX = 12


def victim() -> Path:
    """Where it is: named by the environment, or where cargo puts it."""
    target = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target")
    return Path(os.environ.get("PVARK_VICTIM") or target / "release" / "examples" / "victim")


def program() -> Path:
    """The program whose backup and check are tried: named by the environment, or where cargo puts it."""
    target = Path(os.environ.get("CARGO_TARGET_DIR") or ROOT / "target")
    return Path(os.environ.get("PVARK") or target / "release" / "pvark")


@dataclass
class State:
    """What an interrupted loop needs to go on."""

    seed: int
    cycle: int = 0
    durable: int = 0
    tried: int = 0
    samples: int = 0
    present: list[str] = field(default_factory=list)
    absent: list[str] = field(default_factory=list)
    stages: dict[str, list[int]] = field(default_factory=dict)

    def learn(self, line: str) -> None:
        """Takes one line of the victim."""
        word, _, rest = line.partition(" ")
        if word == "opened":
            self.durable = self.tried = int(rest)
        elif word == "durable":
            self.durable = int(rest)
        elif word == "trying":
            self.tried = int(rest)
        elif word == "present":
            self.present = [*self.present[-20:], rest]
        elif word == "removing":  # from now on it may be there or not
            self.present = [name for name in self.present if name != rest]
        elif word == "absent":
            self.absent = [*self.absent[-20:], rest]
        elif word in ("doing", "done"):
            cycle, step = rest.split()
            self.stages[cycle] = [int(step) - 1, int(step)] if word == "doing" else [int(step), 0]
            self.stages = dict(list(self.stages.items())[-STAGES_MAX:])

    def save(self, folder: Path) -> None:
        """Whole or not at all."""
        unfinished = folder / "state.json.tmp"
        unfinished.write_text(json.dumps(asdict(self)))
        unfinished.replace(folder / "state.json")


def load(folder: Path, seed: int | None) -> State:
    """The state that an earlier loop left, or a new one."""
    path = folder / "state.json"
    if path.exists():
        state = State(**json.loads(path.read_text()))
        if seed not in (None, state.seed):
            raise SystemExit(f"{folder} holds a loop with seed {state.seed}; take another folder for seed {seed}")
        return state
    folder.mkdir(parents=True, exist_ok=True)
    return State(time.time_ns() % 1_000_000 if seed is None else seed)


class Beside:
    """A backup and a check of the archive, while somebody writes it."""

    def __init__(self, folder: Path) -> None:
        self.copy = folder / "archive-copy"
        words = [["backup", "--data", str(folder / "archive"), "--to", str(self.copy)]]
        words += [["check", "--data", str(folder / "archive")]]
        self.running = [self._start(each) for each in words]

    @staticmethod
    def _start(words: list[str]) -> subprocess.Popen[str]:
        command = [str(program()), *words]
        return subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)

    def end(self, killed: bool) -> str | None:
        """What is wrong, if anything is."""
        for process in self.running:
            if killed:
                process.kill()
            said, _ = process.communicate(timeout=BESIDE_SECONDS)
            if not killed and process.returncode != 0:
                return f"{process.args!r} ended with {process.returncode}:\n{said[-3000:]}"
        if killed:
            return None
        check = self._start(["check", "--data", str(self.copy)])
        said, _ = check.communicate(timeout=BESIDE_SECONDS)
        return None if check.returncode == 0 else f"the backup is not whole:\n{said[-3000:]}"


def cycle(folder: Path, state: State) -> None:
    """One life and its end."""
    luck = random.Random(f"{state.seed}/{state.cycle}")
    opening = luck.random() < 0.2
    moment = luck.uniform(0, 0.06) if opening else luck.uniform(0, 0.6)
    age = state.cycle % ARCHIVE_CYCLES
    archive = folder / "archive"
    if age == 0:
        shutil.rmtree(archive, ignore_errors=True)
        shutil.rmtree(folder / "archive-far", ignore_errors=True)
        shutil.rmtree(folder / "archive-copy", ignore_errors=True)
        state.samples += state.durable
        state.durable = state.tried = 0
        state.present, state.absent, state.stages = [], [], {}
        state.save(folder)
    # A loop that died within a cycle has not heard what its victim did: until the next opening anything may be there.
    living = folder / "living"
    if living.exists():
        state.tried, state.present, state.stages = 1 << 62, [], {}
    living.touch()
    words = [f"cycle={state.cycle}", f"durable={state.durable}", f"tried={state.tried}"]
    words += [f"full={int(age % FULL_CYCLES == FULL_CYCLES - 1)}"]
    words += [f"stage={cycle}:{done}:{doing}" for cycle, (done, doing) in state.stages.items()]
    words += [f"present={name}" for name in state.present] + [f"absent={name}" for name in state.absent]
    process = subprocess.Popen(
        [str(victim()), str(archive), *words], stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    )
    opened = threading.Event()
    lines: list[str] = []

    def listen() -> None:
        assert process.stdout is not None
        for line in process.stdout:
            if line.endswith("\n"):
                lines.append(line.strip())
                opened.set()

    listener = threading.Thread(target=listen)
    listener.start()
    if not opening:
        while not opened.wait(0.05) and process.poll() is None:
            pass
    # An archive that is being made has no catalogue yet that could be copied.
    beside = Beside(folder) if age % BESIDE_CYCLES == BESIDE_CYCLES // 2 and opened.is_set() else None
    time.sleep(moment)  # the load itself
    ended = process.poll()
    process.kill()
    process.wait()
    listener.join()
    assert process.stderr is not None
    words_of_victim = process.stderr.read()
    process.stderr.close()
    if ended is not None:
        raise SystemExit(
            f"seed {state.seed}, cycle {state.cycle}: the victim ended by itself with {ended}:\n"
            f"{words_of_victim[-3000:]}\nits archive is {archive}, its words were {' '.join(words)}"
        )
    trouble = beside.end(killed=luck.random() < 0.5) if beside else None
    if trouble:
        raise SystemExit(f"seed {state.seed}, cycle {state.cycle}: beside a victim that was killed, {trouble}")
    for line in lines:
        state.learn(line)
    state.cycle += 1
    state.save(folder)
    living.unlink()


def run(folder: Path, cycles: int, seed: int | None = None) -> State:
    """Goes on until so many cycles are done in all."""
    state = load(folder, seed)
    began, first = time.monotonic(), state.cycle
    print(f"seed {state.seed}, cycles {state.cycle} to {cycles}", flush=True)
    while state.cycle < cycles:
        cycle(folder, state)
        if state.cycle % 50 == 0 or state.cycle == cycles:
            pace = (time.monotonic() - began) / (state.cycle - first)
            left = (cycles - state.cycle) * pace / 60
            samples = state.samples + state.durable
            print(f"{state.cycle} kills survived, {samples} durable samples, {left:.0f} min left", flush=True)
    return state


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--folder", type=Path, required=True)
    parser.add_argument("--cycles", type=int, default=1000)
    parser.add_argument("--seed", type=int)
    options = parser.parse_args()
    if not victim().exists():
        sys.exit(f"there is no {victim()}: run `cargo build --release -p store --example victim` first")
    if not program().exists():
        sys.exit(f"there is no {program()}: run `make build` first")
    run(options.folder, options.cycles, options.seed)
