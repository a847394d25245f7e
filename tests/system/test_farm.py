"""Farms of simulated IOCs into the archiver, by pvark-lab: each update is stored, or counted as lost."""

from __future__ import annotations

import json
import subprocess
from pathlib import Path

import pytest
from archiver import clean_environment, program

TABLE = """scenario,waveforms,points,type,rate,aa_dropped
one,1,1000,integer,14,0
long,3,100000,double,1,0
some,40,1000,double,14,0
many,1000,100,integer,1,0
"""


def lab(*arguments: str | Path) -> dict[str, dict[str, float]]:
    """What a command measures, by case; it fails where an update is missing uncounted, or is not what was sent."""
    command = [str(program().with_name("pvark-lab")), *map(str, arguments), "--pvark", str(program()), "--json"]
    done = subprocess.run(command, env=clean_environment(), capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr + done.stdout
    found: dict[str, dict[str, float]] = {}
    for line in done.stdout.splitlines():
        figure = json.loads(line)
        found.setdefault(figure["case"], {})[figure["metric"]] = figure["value"]
    return found


def assert_adds_up(figures: dict[str, float]) -> None:
    lost = figures["dropped by the IOC"] + figures["dropped by the archiver"]
    assert figures["offered"] == figures["stored"] + lost, figures
    for fault in ("wrong", "PVs the ledger is wrong about", "dropped without a count"):
        assert figures[fault] == 0, figures


def test_scenarios_of_each_kind_are_accounted_for_frame_by_frame(tmp_path: Path) -> None:
    table = tmp_path / "scenarios.csv"
    table.write_text(TABLE)
    found = lab("ess", "--table", table, "--seconds", "2", "--folder", tmp_path)
    assert list(found) == ["one", "long", "some", "many"]
    for figures in found.values():
        assert_adds_up(figures)
        assert figures["stored"] > 0
        assert figures["of these not suspected"] == 0


def test_what_finds_no_room_is_counted_by_the_archiver_to_the_last_frame(tmp_path: Path) -> None:
    group = "name=O:,count=100,length=100000,type=i32,rate=14"
    little_room = ["--config", "queue_megabytes_max = 1"]
    figures = lab("trial", "--group", group, "--seconds", "2", "--folder", tmp_path, *little_room)["groups"]
    assert_adds_up(figures)
    assert figures["dropped by the archiver"] > 0, "40 MB come at once, and there is room for one"
    assert figures["stored"] > 0


def test_memory_stays_within_what_is_configured_while_too_much_comes(tmp_path: Path) -> None:
    sizes = ["--config", "queue_megabytes_max = 32", "--config", "head_megabytes_max = 32"]
    load = ["--ceiling", "250000", "--seconds", "8", "--quiet-seconds", "1"]
    figures = lab("overload", *load, "--folder", tmp_path, *sizes)["waveforms"]
    assert_adds_up(figures)
    assert figures["stored"] < figures["offered"], "1.5 GB/s are too much"
    assert figures["most memory"] <= figures["memory that is configured"] < 0.32


@pytest.mark.parametrize("preset", ["excas", "scalars"])
def test_presets_arrive_as_they_were_sent(preset: str, tmp_path: Path) -> None:
    figures = lab("trial", "--preset", preset, "--seconds", "2", "--folder", tmp_path)[preset]
    assert_adds_up(figures)
    pvs = {"excas": 1005, "scalars": 50_000}[preset]
    assert figures["PVs that sent anything"] == pvs
    assert figures["stored"] >= pvs


def test_capacity_is_predicted_of_a_list_and_of_what_cannot_be_read_it_is_said_why(tmp_path: Path) -> None:
    pvs = tmp_path / "pvs.csv"
    pvs.write_text("name,type,rate,length,count\nESS:,integer,14,1000,10000\n")
    command = [str(program()), "capacity", str(pvs), "--json", "--cores", "2", "--memory", "8", "--network", "1000"]
    done = subprocess.run(command, env=clean_environment(), capture_output=True, text=True, timeout=30)
    assert done.returncode == 0, done.stderr
    said = json.loads(done.stdout)
    assert (said["pvs"], said["updates_per_second"], said["bytes_per_second"]) == (10_000, 140_000, 560e6)
    resources = {row["resource"]: row for row in said["resources"]}
    network = resources["network"]
    assert 0.9 * 560 * 8 < network["needed"] < 1.2 * 560 * 8 and network["exhausted_at"] < 1, "lines are measured"
    assert 0 < resources["processor"]["needed"] < 2
    pvs.write_text("ESS: integer often\n")
    done = subprocess.run(command, env=clean_environment(), capture_output=True, text=True, timeout=30)
    assert done.returncode == 1 and "line 1: rate" in done.stderr
