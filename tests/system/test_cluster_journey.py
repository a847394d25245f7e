"""Nodes of a cluster die while somebody looks at a live plot: the page says so, and goes on through what is left."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from ioc import Ioc
from test_journeys import Browser
from test_page import skip_without_browser
from three_nodes import NAMES, Cluster, store_of

PV, SHARD = "ND:count", 2
RECORDS = f'record(calc, "{PV}") {{ field(SCAN, ".1 second") field(CALC, "VAL+1") }}\n'


@pytest.fixture
def cluster(tmp_path: Path) -> Iterator[Cluster]:
    skip_without_browser()
    store, ioc = store_of(tmp_path), Ioc.of_records(tmp_path, RECORDS)
    cluster = Cluster(tmp_path, [ioc], store.table(tmp_path))
    for node in cluster.nodes.values():
        text = node.config_path.read_text().replace("[cluster]\n", f'[cluster]\npage = "{node.url}"\n')
        node.config_path.write_text(f'{text}[[cluster.rule]]\nmatch = ["{PV}"]\nshard = {SHARD}\n')
    try:
        ioc.start()
        cluster.start()
        yield cluster
    finally:
        cluster.kill()
        ioc.kill()
        store.kill()


@pytest.mark.timeout(300)
def test_a_live_plot_goes_on_though_nodes_die(cluster: Cluster, tmp_path: Path) -> None:
    nodes = cluster.nodes
    nodes["a"].archive.add(PV)
    nodes["a"].wait_connected(PV, seconds=60)
    recorder = cluster.wait_seated()[SHARD]
    page = next(name for name in NAMES if name != recorder)
    acts: dict[str, Callable[[], object]] = {
        "kill the recorder": nodes[recorder].kill,
        "start the recorder": lambda: nodes[recorder].start(60),
        "kill the node of the page": nodes[page].kill,
    }
    Browser(tmp_path, nodes[page], acts).walk("nodes", PVARK_NODES_PV=PV)
