"""Every order, given to a node that does not have what it is about: it is done, or refused with the node to ask."""

from __future__ import annotations

import http.client
import itertools
import json
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import quote

import pytest
from archiver import ROOT, Pvark, run_program
from three_nodes import NAMES, Cluster, Store
from waiting import wait_for

NEEDED = ROOT / "crates/web/tests/suite/matrix/needed.txt"
SHARDS = 3
RULES = "".join(
    f"[[cluster.rule]]\nmatch = {json.dumps([f'O{shard}:*'])}\nshard = {shard}\n" for shard in range(SHARDS)
)
CSV = b"2026-01-05T00:00:00Z,1\n2026-01-05T00:00:01Z,2\n"
CHUNK = (ROOT / "testdata/aa/lts/REF/STRING:2026.pb").read_bytes()


@dataclass
class Elsewhere:
    """A node, and a shard that another one has."""

    node: Pvark
    owner: str
    node_of_owner: Pvark
    shard: int
    numbers: Iterator[int]

    def ask(self, method: str, path: str, body: Any = None) -> tuple[int, Any]:
        """Status and answer."""
        sent = body if isinstance(body, bytes) else None if body is None else json.dumps(body).encode()
        status, _, answer = self.node.request(method, path, sent)
        try:
            return status, json.loads(answer)
        except ValueError:
            return status, answer.decode(errors="replace")

    def done(self, method: str, path: str, body: Any = None) -> Any:
        """The answer to an order that is carried out."""
        status, answer = self.ask(method, path, body)
        assert status == 200, (method, path, status, answer)
        return answer

    def refused(self, why: str, method: str, path: str, body: Any = None) -> None:
        """An order that no node takes."""
        status, answer = self.ask(method, path, body)
        assert why in json.dumps(answer), (method, path, status, answer)

    def name(self) -> str:
        """A name that nobody has, of that shard."""
        return f"O{self.shard}:{next(self.numbers)}"

    def pv(self, paused: bool = False) -> str:
        """A new PV of that shard."""
        name = self.name()
        self.done("POST", "/api/v1/pvs", {"pvs": [name]})
        if paused:
            self.done("POST", f"/api/v1/pvs/{name}/pause")
        return name

    def removed(self) -> str:
        """One that was taken out."""
        name = self.pv()
        self.done("DELETE", f"/api/v1/pvs/{name}")
        return name

    def details(self, pv: str) -> Any:
        """What is known of a PV."""
        return self.done("GET", f"/api/v1/pvs/{pv}")


def is_gone(at: Elsewhere, pv: str) -> bool:
    return at.ask("GET", f"/api/v1/pvs/{pv}")[0] == 404


def add(at: Elsewhere) -> None:
    name = at.name()
    planned = at.done("POST", "/api/v1/pvs?plan=true", {"pvs": [name]})
    assert [of["status"] for of in planned["pvs"]] == ["added"] and is_gone(at, name)
    assert [of["status"] for of in at.done("POST", "/api/v1/pvs", {"pvs": [name]})["pvs"]] == ["added"]
    again = at.done("POST", "/api/v1/pvs?plan=true", {"pvs": [name, {"name": name, "method": "scan", "period": 2}]})
    assert [of["status"] for of in again["pvs"]] == ["already_archived", "changed"]


def remove(at: Elsewhere) -> None:
    assert is_gone(at, at.removed())


def restore(at: Elsewhere) -> None:
    name, other = at.removed(), at.name()
    at.done("POST", f"/api/v1/pvs/{name}/restore")
    assert at.details(name)["name"] == name
    at.done("DELETE", f"/api/v1/pvs/{name}")
    at.done("POST", f"/api/v1/pvs/{name}/restore?as={other}")
    assert at.details(other)["name"] == other


def rename(at: Elsewhere) -> None:
    name, other = at.pv(), at.name()
    at.done("POST", f"/api/v1/pvs/{name}/rename", {"to": other})
    assert at.details(other)["name"] == other


def alias(at: Elsewhere) -> None:
    name, other = at.pv(), at.name()
    at.done("PUT", f"/api/v1/pvs/{name}/aliases/{other}")
    assert at.details(other)["name"] == name
    assert other in at.details(name)["aliases"]
    elsewhere = f"O{(at.shard + 1) % SHARDS}:{next(at.numbers)}"
    at.done("POST", "/api/v1/pvs", {"pvs": [elsewhere]})
    status, answer = at.ask("PUT", f"/api/v1/pvs/{name}/aliases/{elsewhere}")
    assert status == 409, answer


def remove_alias(at: Elsewhere) -> None:
    name, other = at.pv(), at.name()
    at.done("PUT", f"/api/v1/pvs/{name}/aliases/{other}")
    at.done("DELETE", f"/api/v1/pvs/{name}/aliases/{other}")
    assert is_gone(at, other)


def switch(word: str) -> Callable[[Elsewhere], None]:
    def order(at: Elsewhere) -> None:
        name = at.pv(paused=word == "resume")
        assert at.done("POST", f"/api/v1/pvs/{name}/{word}")["status"] == f"{word}d"

    return order


def switch_many(word: str) -> Callable[[Elsewhere], None]:
    def order(at: Elsewhere) -> None:
        names = [at.pv(paused=word == "resume") for _ in range(2)]
        assert [of["status"] for of in at.done("POST", f"/api/v1/{word}", {"pvs": names})["pvs"]] == [f"{word}d"] * 2

    return order


def delete_samples(at: Elsewhere) -> Any:
    name = at.pv()
    at.node_of_owner.take(name, "f64", CSV.decode())
    deleted = at.done("DELETE", f"/api/v1/pvs/{name}/samples?from=2026-01-01&to=2026-01-09")
    assert deleted["name"] == name
    assert deleted["number"] in [of["number"] for of in at.done("GET", "/api/v1/deletions")["deletions"]]
    return deleted["number"]


def undo_deletion(at: Elsewhere) -> None:
    number = delete_samples(at)
    at.done("POST", f"/api/v1/deletions/{number}/undo")
    assert number not in [of["number"] for of in at.done("GET", "/api/v1/deletions")["deletions"]]


def import_csv(at: Elsewhere) -> None:
    name = at.pv()
    done = at.done("POST", f"/api/v1/pvs/{name}/import?import=csv&part=1&type=f64", CSV)
    assert (done["status"], done["samples"]) == ("imported", len(CSV.splitlines())), done
    again = at.done("POST", f"/api/v1/pvs/{name}/import?import=csv&part=1&type=f64", CSV)
    assert (again["status"], again["samples"]) == ("already_imported", done["samples"]), again


def import_lines(at: Elsewhere) -> None:
    path = f"/api/v1/import?import=aa&part={next(at.numbers)}"
    taken = at.done("POST", path, CHUNK)
    assert taken["status"] == "imported" and taken["received"] == taken["verified"] > 0, taken
    assert at.done("POST", path, CHUNK)["status"] == "already_imported"


def import_type_info(at: Elsewhere) -> None:
    name = at.name()
    assert at.done("POST", "/api/v1/import/type-info?import=aa", type_info(name))["new"] == 1
    assert at.details(name)["state"] == "paused"


def type_info(name: str) -> list[dict[str, str]]:
    return [{"pvName": name, "DBRType": "DBR_SCALAR_DOUBLE", "samplingMethod": "MONITOR", "samplingPeriod": "1.0"}]


def remove_many(at: Elsewhere) -> None:
    names = [at.pv() for _ in range(2)]
    assert [of["status"] for of in at.done("POST", "/api/v1/remove", {"pvs": names})["pvs"]] == ["removed"] * 2
    assert [of["status"] for of in at.done("POST", "/api/v1/remove", {"pvs": names, "data": "delete"})["pvs"]]


def restore_many(at: Elsewhere) -> None:
    names = [at.removed() for _ in range(2)]
    assert [of["status"] for of in at.done("POST", "/api/v1/restore", {"pvs": names})["pvs"]] == ["restored"] * 2


def purge(at: Elsewhere) -> None:
    name = at.pv()
    at.done("DELETE", f"/api/v1/pvs/{name}?data=delete")
    assert at.done("GET", "/api/v1/purge")["pvs"].count(name) == 1
    assert at.done("GET", f"/api/v1/purge?pv={name}")["pvs"] == [name]
    assert at.done("POST", f"/api/v1/purge?pv={name}&confirm=true")["pvs"] == [name]
    assert at.done("POST", "/api/v1/purge?confirm=true")["status"] == "ordered"


def undo(at: Elsewhere) -> None:
    names = [at.pv() for _ in range(2)]
    at.done("POST", "/api/v1/pause", {"pvs": names})
    orders = at.done("GET", "/api/v1/undo")["orders"]
    number = next(of["number"] for of in orders if of["pvs"] == 2)
    taken_back = at.done("POST", f"/api/v1/undo/{number}")
    assert sorted(of["name"] for of in taken_back["pvs"]) == sorted(names), taken_back
    assert all(at.details(name)["state"] != "paused" for name in names)


def memo(kind: str, method: str) -> Callable[[Elsewhere], None]:
    def order(at: Elsewhere) -> None:
        number = next(at.numbers)
        body = {"text": f"said {number}"} if kind == "notes" else {"name": f"said/{number}", "query": "pv=O"}
        (made,) = at.done("POST", f"/api/v1/{kind}", body)[kind]
        path = f"/api/v1/{kind}/{made['number']}"
        if method == "PUT":
            at.done("PUT", path, body | {"text": "again"})
            assert at.done("GET", path)["text"] == "again"
        if method == "DELETE":
            at.done("DELETE", path)
            assert at.ask("GET", path)[0] == 404

    return order


def names(at: Elsewhere) -> None:
    """What adding a list would do is known at every node."""
    pv, new = at.pv(), at.name()
    told = at.done("POST", "/api/v1/names", [pv, new])["names"]
    assert [(of["name"], of["status"]) for of in told] == [(pv, "known"), (new, "new")]


def slow(at: Elsewhere) -> None:
    """Each node tells of the requests that it answered itself."""
    assert isinstance(at.done("GET", "/api/v1/slow")["slow"], list)


def upkeep(at: Elsewhere) -> None:
    """How long what is kept is known of all nodes; backups lie beside the nodes, and nobody tells them."""
    of = {"name": at.name(), "keep_seconds": 9 * 86400}
    assert [told["status"] for told in at.done("POST", "/api/v1/pvs", {"pvs": [of]})["pvs"]] == ["added"]
    told = at.done("GET", "/api/v1/upkeep")
    kept = [(row["of"], row["keep_seconds"]) for row in told["retention"]]
    assert ("setting", 9 * 86400) in kept and kept[-1] == ("others", None) and told["backups"] == []


def tokens(at: Elsewhere) -> None:
    made = at.done("POST", "/api/v1/tokens", {"name": f"t{next(at.numbers)}", "right": "read", "expires": "1d"})
    assert made["id"] in [of["id"] for of in at.done("GET", "/api/v1/tokens")]
    at.done("DELETE", f"/api/v1/tokens/{made['id']}")


def bpl(path: str, paused: bool = False, expected: str = "ok") -> Callable[[Elsewhere], None]:
    """An order of the Appliance about one PV, by GET."""

    def order(at: Elsewhere) -> None:
        pv = at.pv(paused)
        answer = at.done("GET", path.format(pv=pv, other=at.name()))
        assert expected in json.dumps(answer), answer

    return order


def bpl_post(path: str, paused: bool = False) -> Callable[[Elsewhere], None]:
    def order(at: Elsewhere) -> None:
        pv = at.pv(paused)
        assert "ok" in json.dumps(at.done("POST", path, [{"pv": pv}] if path.endswith("archivePV") else [pv]))

    return order


def same_everywhere(method: str, path: str, expected: str, body: Any = None) -> Callable[[Elsewhere], None]:
    """An order that concerns no shard, or that no node of a cluster takes."""
    return lambda at: at.refused(expected, method, path.format(pv=at.pv()), body)


def abort(path: str) -> Callable[[Elsewhere], None]:
    def order(at: Elsewhere) -> None:
        pv = at.pv()
        at.done("GET", f"{path}?pv={pv}")
        assert is_gone(at, pv)

    return order


def put_type_info(at: Elsewhere) -> None:
    name = at.pv()
    at.done("POST", f"/mgmt/bpl/putPVTypeInfo?pv={name}&override=true", type_info(name)[0])


def append(at: Elsewhere) -> None:
    older, newer = at.pv(paused=True), at.pv(paused=True)
    at.done("POST", f"/api/v1/pvs/{older}/import?import=csv&part=1&type=f64", CSV)
    at.done("GET", f"/mgmt/bpl/appendAndAliasPV?olderpv={older}&newerpv={newer}")
    assert at.details(older)["name"] == newer
    found = at.node.archive.get(older, "2026-01-01", "2026-01-10").values.tolist()
    assert found == [1.0, 2.0], found


def to_nodes(at: Elsewhere) -> None:
    """Orders to nodes are those of test_cluster.py; here that any node takes them."""
    seat = next(of for of in at.done("GET", "/api/v1/cluster")["nodes"] if of["name"] == at.owner)
    at.refused("already", "POST", f"/api/v1/cluster/shards/{at.shard}/move", {"to": at.owner})
    at.refused("no node of this cluster", "POST", "/api/v1/cluster/nodes/nobody/drain")
    at.done("POST", f"/api/v1/cluster/nodes/{seat['name']}/join")
    at.refused("lives", "DELETE", f"/api/v1/cluster/nodes/{at.owner}")
    at.refused("format", "POST", "/api/v1/cluster/raise")


BY_FILE = "config files"
ORDERS: dict[str, Callable[[Elsewhere], Any]] = {
    "POST /api/v1/pvs": add,
    "DELETE /api/v1/pvs/{pv}": remove,
    "POST /api/v1/pvs/{pv}/restore": restore,
    "POST /api/v1/pvs/{pv}/rename": rename,
    "PUT /api/v1/pvs/{pv}/aliases/{alias}": alias,
    "DELETE /api/v1/pvs/{pv}/aliases/{alias}": remove_alias,
    "POST /api/v1/pvs/{pv}/pause": switch("pause"),
    "POST /api/v1/pvs/{pv}/resume": switch("resume"),
    "DELETE /api/v1/pvs/{pv}/samples": delete_samples,
    "POST /api/v1/pvs/{pv}/import": import_csv,
    "POST /api/v1/import": import_lines,
    "POST /api/v1/import/type-info": import_type_info,
    "POST /api/v1/pause": switch_many("pause"),
    "POST /api/v1/resume": switch_many("resume"),
    "POST /api/v1/remove": remove_many,
    "POST /api/v1/restore": restore_many,
    "POST /api/v1/deletions/{number}/undo": undo_deletion,
    "POST /api/v1/purge": purge,
    "POST /api/v1/undo/{number}": undo,
    "POST /api/v1/notes": memo("notes", "POST"),
    "PUT /api/v1/notes/{number}": memo("notes", "PUT"),
    "DELETE /api/v1/notes/{number}": memo("notes", "DELETE"),
    "POST /api/v1/views": memo("views", "POST"),
    "PUT /api/v1/views/{number}": memo("views", "PUT"),
    "DELETE /api/v1/views/{number}": memo("views", "DELETE"),
    "POST /api/v1/cluster/shards/{shard}/move": to_nodes,
    "POST /api/v1/cluster/nodes/{node}/drain": to_nodes,
    "POST /api/v1/cluster/nodes/{node}/join": to_nodes,
    "DELETE /api/v1/cluster/nodes/{node}": to_nodes,
    "POST /api/v1/cluster/raise": to_nodes,
    "POST /api/v1/names": names,
    "GET /api/v1/slow": slow,
    "GET /api/v1/upkeep": upkeep,
    "GET /api/v1/tokens": tokens,
    "POST /api/v1/tokens": tokens,
    "DELETE /api/v1/tokens/{id}": tokens,
    "POST /api/v1/policies/apply": same_everywhere("POST", "/api/v1/policies/apply", BY_FILE),
    "PUT /api/v1/groups/{group}": same_everywhere("PUT", "/api/v1/groups/g", BY_FILE, {"enabled_by": ["O0:1"]}),
    "DELETE /api/v1/groups/{group}": same_everywhere("DELETE", "/api/v1/groups/g", "g"),
    "GET /mgmt/bpl/archivePV": bpl("/mgmt/bpl/archivePV?pv={pv}", expected="pvName"),
    "POST /mgmt/bpl/archivePV": lambda at: at.done("POST", "/mgmt/bpl/archivePV", [{"pv": at.name()}]),
    "GET /mgmt/bpl/pauseArchivingPV": bpl("/mgmt/bpl/pauseArchivingPV?pv={pv}"),
    "POST /mgmt/bpl/pauseArchivingPV": bpl_post("/mgmt/bpl/pauseArchivingPV"),
    "GET /mgmt/bpl/resumeArchivingPV": bpl("/mgmt/bpl/resumeArchivingPV?pv={pv}", paused=True),
    "POST /mgmt/bpl/resumeArchivingPV": bpl_post("/mgmt/bpl/resumeArchivingPV", paused=True),
    "GET /mgmt/bpl/deletePV": bpl("/mgmt/bpl/deletePV?pv={pv}&deleteData=true", paused=True),
    "POST /mgmt/bpl/deletePV": bpl_post("/mgmt/bpl/deletePV", paused=True),
    "GET /mgmt/bpl/abortArchivingPV": abort("/mgmt/bpl/abortArchivingPV"),
    "GET /mgmt/bpl/abortArchivingPVForThisAppliance": abort("/mgmt/bpl/abortArchivingPVForThisAppliance"),
    "GET /mgmt/bpl/changeArchivalParameters": bpl(
        "/mgmt/bpl/changeArchivalParameters?pv={pv}&samplingperiod=3&samplingmethod=SCAN"
    ),
    "GET /mgmt/bpl/addAlias": bpl("/mgmt/bpl/addAlias?pv={pv}&aliasname={other}"),
    "GET /mgmt/bpl/removeAlias": lambda at: remove_alias_as_the_appliance_does(at),
    "GET /mgmt/bpl/renamePV": bpl("/mgmt/bpl/renamePV?pv={pv}&newname={other}", paused=True),
    "POST /mgmt/bpl/importConfig": lambda at: at.done("POST", "/mgmt/bpl/importConfig", type_info(at.name())),
    "POST /mgmt/bpl/importConfigForAppliance": lambda at: at.done(
        "POST", "/mgmt/bpl/importConfigForAppliance", type_info(at.name())
    ),
    "POST /mgmt/bpl/putPVTypeInfo": put_type_info,
    "GET /mgmt/bpl/consolidateDataForPV": bpl("/mgmt/bpl/consolidateDataForPV?pv={pv}&storage=LTS", paused=True),
    "GET /etl/bpl/consolidateDataForPV": bpl("/etl/bpl/consolidateDataForPV?pv={pv}&storage=LTS", paused=True),
    "GET /mgmt/bpl/setNamedFlag": same_everywhere("GET", "/mgmt/bpl/setNamedFlag?name=f&value=true", ""),
    "GET /mgmt/bpl/modifyMetaFields": bpl("/mgmt/bpl/modifyMetaFields?pv={pv}&command=add,ADEL"),
    "GET /mgmt/bpl/appendAndAliasPV": append,
    "GET /mgmt/bpl/skipAliasCheck": bpl("/mgmt/bpl/skipAliasCheck?pv={pv}"),
    "GET /mgmt/bpl/changeTypeForPV": bpl("/mgmt/bpl/changeTypeForPV?pv={pv}&newtype=DBR_SCALAR_DOUBLE"),
    "GET /mgmt/bpl/resetFailoverCaches": same_everywhere("GET", "/mgmt/bpl/resetFailoverCaches", "no caches"),
    "GET /mgmt/bpl/modifyStoreURLForPV": same_everywhere("GET", "/mgmt/bpl/modifyStoreURLForPV?pv={pv}", "store"),
    "GET /mgmt/bpl/changeStore": same_everywhere("GET", "/mgmt/bpl/changeStore?pv={pv}", "store"),
    "GET /mgmt/bpl/reshardPV": same_everywhere("GET", "/mgmt/bpl/reshardPV?pv={pv}", "only member"),
    "GET /mgmt/bpl/reassignAppliance": same_everywhere("GET", "/mgmt/bpl/reassignAppliance?pv={pv}", "only member"),
    "POST /mgmt/bpl/reassignAppliance": same_everywhere("POST", "/mgmt/bpl/reassignAppliance", "only member", ["O0:1"]),
    "GET /mgmt/bpl/mergeInData": same_everywhere("GET", "/mgmt/bpl/mergeInData?pv={pv}", "only member"),
}


def remove_alias_as_the_appliance_does(at: Elsewhere) -> None:
    name, other = at.pv(), at.name()
    at.done("GET", f"/mgmt/bpl/addAlias?pv={name}&aliasname={other}")
    at.done("GET", f"/mgmt/bpl/removeAlias?pv={name}&aliasname={other}")
    assert is_gone(at, other)


@pytest.fixture(scope="module")
def cluster(module_folder: Path, module_store: Store) -> Iterator[Cluster]:
    cluster = Cluster(module_folder, [], module_store.table(module_folder) + RULES, shards=SHARDS)
    try:
        cluster.start()
        yield cluster
    finally:
        cluster.kill()


def test_every_order_that_the_table_names_is_tried_here() -> None:
    lines = [line.split() for line in NEEDED.read_text().splitlines() if line.strip()]
    orders = {f"{method} {path}" for method, path, right in lines if right in ("operate", "administer")}
    assert sorted(orders) == sorted(ORDERS)


@pytest.fixture(scope="module")
def elsewhere(cluster: Cluster) -> Callable[[bool], Elsewhere]:
    numbers = itertools.count()

    def chosen(of_site: bool) -> Elsewhere:
        seats = cluster.wait_seated()
        shards = [SHARDS] if of_site else range(SHARDS)
        shard = next(shard for shard in shards if shard in seats)
        owner = seats[shard]
        asked = next(name for name in NAMES if name != owner)
        return Elsewhere(cluster.nodes[asked], owner, cluster.nodes[owner], 0 if of_site else shard, numbers)

    return chosen


@pytest.mark.parametrize("order", ORDERS, ids=lambda order: quote(order, safe=" /{}"))
def test_an_order_is_carried_out_from_elsewhere(order: str, elsewhere: Callable[[bool], Elsewhere]) -> None:
    is_of_site = any(word in order for word in ("notes", "views", "tokens"))
    ORDERS[order](elsewhere(is_of_site))


def test_what_has_a_number_at_one_node_is_known_at_once_at_every_other(cluster: Cluster) -> None:
    seats = cluster.wait_seated()
    nodes = list(cluster.nodes.values())
    numbers = itertools.count()
    for kind, body in (("notes", {"text": "said"}), ("views", {"name": "", "query": "pv=O"})):
        for first, second in itertools.permutations(nodes, 2):
            text = body | ({"name": f"at/{next(numbers)}"} if kind == "views" else {})
            status, _, answer = first.request("POST", f"/api/v1/{kind}", json.dumps(text).encode())
            assert status == 200, answer
            path = f"/api/v1/{kind}/{json.loads(answer)[kind][0]['number']}"
            changed = json.dumps(text | {"text": "said otherwise"}).encode()
            status, _, answer = second.request("PUT", path, changed)
            assert status == 200, (status, answer)
            third = next(node for node in nodes if node not in (first, second))
            status, _, answer = third.request("DELETE", path)
            assert status == 200, (status, answer)
            assert second.request("GET", path)[0] in (200, 404)
            assert first.request("PUT", path, changed)[0] == 404, "it is gone"
    # A view of the same name is written over, not refused.
    for node in nodes:
        view = json.dumps({"name": "at/all", "query": f"pv={node.port}"}).encode()
        assert node.request("POST", "/api/v1/views", view)[0] == 200
    # Orders are taken back, and deletions, by the number that another node has given them.
    pv = "O1:numbered"
    owner = cluster.nodes[seats[1]]
    owner.archive.add(pv)
    owner.take(pv, "f64", CSV.decode())
    for node in (node for node in nodes if node is not owner):
        assert owner.request("POST", "/api/v1/pause", json.dumps({"pvs": [pv]}).encode())[0] == 200
        order = owner.json("/api/v1/undo")["orders"][0]
        assert order["action"] == "paused", order
        status, _, answer = node.request("POST", f"/api/v1/undo/{order['number']}")
        assert status == 200, (status, answer)
        status, _, answer = owner.request("DELETE", f"/api/v1/pvs/{pv}/samples?from=2026-01-01&to=2026-01-09")
        assert status == 200, answer
        status, _, answer = node.request("POST", f"/api/v1/deletions/{json.loads(answer)['number']}/undo")
        assert status == 200, (status, answer)


def test_what_is_imported_where_its_shard_lies_is_answered_everywhere(cluster: Cluster) -> None:
    seats = cluster.wait_seated()
    pv = "O1:imported"
    owner = cluster.nodes[seats[1]]
    owner.archive.add(pv)
    path = f"/api/v1/pvs/{pv}/import?import=csv&part=1&type=f64"
    for _ in range(2):  # a part that is known is not taken again
        status, _, body = owner.request("POST", path, CSV)
        assert status == 200, body
    for node in cluster.nodes.values():

        def is_there(node: Pvark = node) -> bool:
            assert "O1:imported" in [of["name"] for of in node.json("/api/v1/pvs?match=imported")["pvs"]]
            return bool(node.archive.get(pv, "2026-01-01", "2026-01-10").values.tolist() == [1.0, 2.0])

        wait_for("what was imported", is_there, 20, every=0.3)


def test_a_token_that_one_node_makes_opens_all_and_one_that_is_revoked_none(
    tmp_path: Path, module_store: Store
) -> None:
    cluster = Cluster(tmp_path, [], module_store.table(tmp_path) + RULES, shards=SHARDS)
    for node in cluster.nodes.values():
        access = f'[access]\nanonymous = "read"\nsocket = "{node.folder}/admin.sock"\n'
        node.config_path.write_text(node.config_path.read_text() + access)

    def by_socket(node: Pvark, *arguments: str) -> str:
        done = run_program("--socket", node.folder / "admin.sock", *arguments, "--server", node.url, seconds=60)
        assert done.returncode == 0, (arguments, done.stdout, done.stderr)
        return done.stdout.strip()

    def adds(node: Pvark, token: str) -> int:
        headers = {"Authorization": f"Bearer {token}", "Content-Type": "application/json"}
        body = json.dumps({"pvs": [f"O0:{node.port}"]}).encode()
        connection = http.client.HTTPConnection("127.0.0.1", node.port, timeout=30)
        try:
            connection.request("POST", "/api/v1/pvs", body, headers)
            return connection.getresponse().status
        finally:
            connection.close()

    try:
        cluster.start()
        seats = cluster.wait_seated()
        makers = [node for name, node in cluster.nodes.items() if name != seats[SHARDS]]
        token = by_socket(makers[0], "token", "add", "ingest", "--right", "operate", "--expires", "1d").splitlines()[-1]
        for node in cluster.nodes.values():
            wait_for("the token to open a node", lambda node=node: adds(node, token) == 200, 30, every=0.5)  # type: ignore[misc]
        by_socket(makers[1], "token", "revoke", token.split("_")[1])
        for node in cluster.nodes.values():
            wait_for("it to open none", lambda node=node: adds(node, token) == 401, 30, every=0.5)  # type: ignore[misc]
    finally:
        cluster.kill()
