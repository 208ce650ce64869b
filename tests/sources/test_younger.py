import hashlib
import io
import os
import pickle
import tarfile
import zipfile
from pathlib import Path
from typing import Any

import networkx
import pytest

from grade import InputError
from grade.settings import ReadSettings
from grade.sources import load
from grade.sources.younger import read_younger
from tests.sources.test_json_lines import described


def operator(kind: str, domain: str = "", **attributes: Any) -> dict[str, Any]:
    return {
        "type": "operator",
        "operator": {"op_type": kind, "domain": domain},
        "attributes": {name: {"attr_type": "GRAPH", "value": value} for name, value in attributes.items()},
    }


def instance() -> networkx.DiGraph:
    """Input -> Conv -> Relu -> If -> output, a constant, and a branch of two operators in the If."""
    branch = networkx.DiGraph()
    branch.add_node("0", **operator("Neg"))
    branch.add_node("1", **operator("Exp"))
    branch.add_edge("0", "1")
    graph = networkx.DiGraph(ir_version=8, opset_import={"": 17})
    graph.add_node("in", type="input", graph_inputs=["x"])
    graph.add_node("0", **operator("Conv"))
    graph.add_node("1", **operator("Gelu", "com.microsoft"))
    graph.add_node("2", **operator("If", then_branch=branch))
    graph.add_node("3", **operator("Constant"))
    graph.add_node("4", type="constant", graph_constants=["w"])
    graph.add_node("out", type="output", graph_outputs=["y"])
    graph.add_edges_from([("in", "0"), ("0", "1"), ("1", "2"), ("3", "2"), ("4", "0"), ("2", "out")])
    _ = graph.nodes, graph.adj, graph.edges, graph.degree  # networkx keeps these views in the object
    return graph


def flat() -> networkx.DiGraph:
    """A sample of a task: operators only, as features or as plain words."""
    graph = networkx.DiGraph()
    graph.add_node(0, features={"operator": {"op_type": "Conv", "domain": ""}, "attributes": {}})
    graph.add_node(1, operator="Relu")
    graph.add_edge(0, 1, connection=(0, 0))
    return graph


INSTANCE = (
    [["Conv", "com.microsoft::Gelu", "Neg", "Exp", "If"], [[0, 1], [1, 4], [2, 3], [3, 4]], ["edge"] * 4],
)
FLAT = ([["Conv", "Relu"], [[0, 1]], ["edge"]],)


@pytest.mark.parametrize("protocol", range(2, 6))
def test_instances_and_samples_are_read_from_folders(tmp_path: Path, protocol: int) -> None:
    (tmp_path / "model-1" / "network").mkdir(parents=True)
    (tmp_path / "model-1" / "network" / "graph.pkl").write_bytes(pickle.dumps(instance(), protocol))
    (tmp_path / "task").mkdir()
    (tmp_path / "task" / "sample-0.pkl").write_bytes(pickle.dumps(flat(), protocol))
    (tmp_path / "task" / "other.pkl").write_bytes(b"not asked for")
    graphs = load(f"younger:{tmp_path}")
    assert [list(row[1:]) for row in described(graphs)] == [*INSTANCE, *FLAT]
    assert list(graphs.graph_names) == [
        str(tmp_path / "model-1" / "network" / "graph.pkl"),
        str(tmp_path / "task" / "sample-0.pkl"),
    ]


def test_constants_are_kept_on_request(tmp_path: Path) -> None:
    (tmp_path / "sample-1.pkl").write_bytes(pickle.dumps(instance()))
    graphs = load(f"younger:{tmp_path}", ReadSettings(constants=True))
    assert "Constant" in graphs.node_vocabulary
    assert graphs.nodes == 6


def tar(path: Path, members: dict[str, bytes], mode: str) -> None:
    with tarfile.open(path, mode) as archive:
        for name, content in members.items():
            entry = tarfile.TarInfo(name)
            entry.size = len(content)
            archive.addfile(entry, io.BytesIO(content))


def pack(path: Path, members: dict[str, bytes]) -> Path:
    if path.suffix == ".zip":
        with zipfile.ZipFile(path, "w") as archive:
            for name, content in members.items():
                archive.writestr(name, content)
    else:
        tar(path, members, "w:gz" if path.suffix == ".gz" else "w")
    return path


@pytest.mark.parametrize("name", ["task.tar", "task.tar.gz", "task.zip"])
def test_archives_are_read_without_unpacking_them(tmp_path: Path, name: str) -> None:
    content = pickle.dumps(flat())
    path = pack(
        tmp_path / name,
        {"train/sample-0.pkl": content, "train/meta.json": b"{}", "train/sample-1.pkl": content},
    )
    graphs = load(f"younger:{path}")
    assert [list(row[1:]) for row in described(graphs)] == [*FLAT, *FLAT]
    assert graphs.graph_names[1] == f"{path}/train/sample-1.pkl"
    assert [file.name for file in tmp_path.iterdir()] == [name]


@pytest.mark.parametrize("name", ["task.tar", "task.zip"])
@pytest.mark.parametrize(
    "member", ["../sample-0.pkl", "/tmp/sample-0.pkl", "a/../../sample-0.pkl", "..\\sample-0.pkl"]
)
def test_archives_that_point_outside_are_refused(tmp_path: Path, name: str, member: str) -> None:
    path = pack(tmp_path / name, {member: pickle.dumps(flat())})
    with pytest.raises(InputError, match=rf"{name} is refused, for its member .* points outside"):
        load(f"younger:{path}")


def traps(place: Path) -> dict[str, bytes]:
    """Pickles that would make a file at this place if anything of them were run."""

    class Call:
        def __init__(self, function: Any, *arguments: Any) -> None:
            self.call = function, arguments

        def __reduce__(self) -> Any:
            return self.call

    hidden = flat()
    hidden.graph["note"] = Call(os.system, f"touch {place}")
    fine = pickle.dumps(flat(), 4)
    return {
        "system": pickle.dumps(Call(os.system, f"touch {place}")),
        "eval": pickle.dumps(Call(eval, f"open({str(place)!r}, 'w')")),
        "in a graph": pickle.dumps(hidden),
        "touch": pickle.dumps(Call(Path.touch, place)),
        "protocol 0": b"cos\nsystem\n(S'touch " + str(place).encode() + b"'\ntR.",
        "inst": b"(S'touch " + str(place).encode() + b"'\nios\nsystem\n.",
        "getattr": b"cbuiltins\ngetattr\n(cbuiltins\ndict\nS'fromkeys'\ntR.",
        "import": b"cbuiltins\n__import__\n(S'os'\ntR.",
        "networkx code": b"cnetworkx.readwrite.gpickle\nread_gpickle\n(S'/etc/passwd'\ntR.",
        "dotted": b"\x80\x04\x8c\x18networkx.classes.digraph\x8c\x10DiGraph.__init__\x93.",
        "extension": b"\x80\x02\x82\x01.",
        "persistent": b"Pwhatever\n.",
        "after a graph": fine[:-1] + b"0cos\nsystem\n(S'touch " + str(place).encode() + b"'\ntR.",
    }


@pytest.mark.parametrize("name", traps(Path("x")))
def test_a_malicious_pickle_is_refused_by_name_and_runs_nothing(tmp_path: Path, name: str) -> None:
    place = tmp_path / "sprung"
    path = tmp_path / "sample-0.pkl"
    path.write_bytes(traps(place)[name])
    with pytest.raises(InputError, match=r"sample-0\.pkl is (refused|not a pickled graph)"):
        next(read_younger(str(path)))
    assert not place.exists()
    if name in ("system", "in a graph", "protocol 0", "after a graph"):
        pickle.loads(path.read_bytes())  # noqa: S301 (the trap is a working one: elsewhere it does spring)
        assert place.exists()


def wrapped(content: bytes, checksum: str | None = None) -> bytes:
    """As Younger's package saves what it pickled."""
    return pickle.dumps({"main": content, "checksum": checksum or hashlib.sha256(content).hexdigest()})


@pytest.mark.parametrize("name", traps(Path("x")))
def test_a_malicious_pickle_in_a_wrapper_is_refused_too(tmp_path: Path, name: str) -> None:
    place = tmp_path / "sprung"
    path = tmp_path / "sample-0.pkl"
    path.write_bytes(wrapped(traps(place)[name]))
    with pytest.raises(InputError, match=r"sample-0\.pkl is (refused|not a pickled graph)"):
        next(read_younger(str(path)))
    assert not place.exists()
    if name == "system":
        with pytest.raises(
            InputError, match=r"its pickle asks for '(posix|nt)\.system', which a graph does not need"
        ):
            next(read_younger(str(path)))


def test_a_wrapper_with_another_checksum_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "sample-0.pkl"
    path.write_bytes(wrapped(pickle.dumps(flat())))
    assert load(f"younger:{tmp_path}").nodes == 2
    path.write_bytes(wrapped(pickle.dumps(flat()), "0" * 64))
    with pytest.raises(InputError, match=r"sample-0\.pkl is damaged .it does not match its checksum"):
        load(f"younger:{tmp_path}")


def test_emit_and_trap_indices_are_operands(tmp_path: Path) -> None:
    graph = networkx.DiGraph()
    for number, kind in enumerate(["Split", "Exp", "Sub"]):
        graph.add_node(
            str(number), operator={"op_type": kind, "domain": ""}, attributes={"axis": (2, "[1, 2]")}
        )
    graph.add_edge("0", "2", connection={"emit_index": 1, "trap_index": 1})
    graph.add_edge("1", "2", connection={"emit_index": 0, "trap_index": 0})
    sample = "hash", graph, {"0", "2"}
    (tmp_path / "sample-3.pkl").write_bytes(wrapped(pickle.dumps(sample)))
    graphs = load(f"younger:{tmp_path}")
    assert graphs.operands(2) == [((0, 0), 1), ((1, 1), 0)]
    assert graphs.graph_outputs is None  # a sample does not tell
    assert graphs.outputs.tolist() == [False, False, True]
    typed = load(f"younger:{tmp_path}", ReadSettings(attributes=["Sub.axis"]))
    assert typed.node_vocabulary == ("Split", "Exp", "Sub[axis=1x2]")
    positioned = load(f"younger:{tmp_path}", ReadSettings(positions=True))
    assert set(positioned.edge_vocabulary[1:]) >= {"0", "1"}


@pytest.mark.parametrize(
    "content",
    [
        b"",
        b"text",
        pickle.dumps(flat())[:-20],
        pickle.dumps([1, 2]),
        pickle.dumps({"state": {}}),
        pickle.dumps(None),
        wrapped(b"text"),
        wrapped(pickle.dumps(("hash", 1))),
    ],
)
def test_damaged_and_foreign_pickles_are_refused(tmp_path: Path, content: bytes) -> None:
    path = tmp_path / "sample-0.pkl"
    path.write_bytes(content)
    with pytest.raises(InputError, match=r"sample-0\.pkl is not a "):
        load(f"younger:{path}")


def test_a_graph_without_operators_is_refused(tmp_path: Path) -> None:
    (tmp_path / "sample-0.pkl").write_bytes(pickle.dumps(networkx.DiGraph([(0, 1)])))
    with pytest.raises(InputError, match="its nodes lack an operator"):
        load(f"younger:{tmp_path}")


def test_a_folder_without_pickles_is_refused(tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "missing"):
        with pytest.raises(InputError, match="neither an archive nor a folder with"):
            load(f"younger:{place}")


@pytest.mark.parametrize(
    "content",
    [
        b"\x80\x04Nr\xff\xff\xff\x7f.",  # a place in the memo that would make room for billions
        b"\x80\x04Np99999999999\n.",
        b"\x80\x05\x96\x08\x00\x00\x00\x00\x00\x00\x00abcdefgh.",  # an array of bytes, which no graph has
    ],
)
def test_pickles_that_ask_for_much_memory_are_refused_before(tmp_path: Path, content: bytes) -> None:
    (tmp_path / "graph.pkl").write_bytes(content)
    with pytest.raises(InputError, match=r"graph\.pkl is refused, for its pickle asks for too much memory"):
        load(f"younger:{tmp_path / 'graph.pkl'}")
