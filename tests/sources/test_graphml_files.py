import random
from pathlib import Path

import igraph
import networkx
import pytest
from hypothesis import HealthCheck, given, settings

from grade import GraphSet, InputError
from grade.settings import ReadSettings
from grade.sources import load, to_networkx
from tests.graph_sets import graph_sets
from tests.sources.mutations import mutated, outcome
from tests.sources.test_json_lines import described

HEAD = '<?xml version="1.0"?><graphml xmlns="http://graphml.graphdrawing.org/xmlns">'
KEYS = '<key id="t" for="node" attr.name="type"/><key id="k" for="edge" attr.name="type"/>'
GRAPH = (
    '<graph id="G" edgedefault="directed"><node id="a"><data key="t">conv</data></node>'
    '<node id="b"><data key="t">add</data></node><edge source="a" target="b"><data key="k">skip</data></edge></graph>'
)

TWICE = "<edge source='a' target='b'/></graph>"


def write(path: Path, text: str) -> Path:
    path.write_text(text)
    return path


@given(graphs=graph_sets(max_graphs=1))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
def test_what_networkx_writes_is_read(graphs: GraphSet, tmp_path: Path) -> None:
    networkx.write_graphml(to_networkx(graphs, 0), tmp_path / "graph.graphml")
    opened = load(tmp_path / "graph.graphml")
    assert [row[1:] for row in described(opened)] == [row[1:] for row in described(graphs)]
    if graphs.node_names is not None:
        assert opened.node_names is not None
        assert list(opened.node_names) == list(graphs.node_names)
    assert opened.outputs.tolist() == graphs.outputs.tolist()
    assert opened.operand_words(0) == graphs.operand_words(0)


@given(graphs=graph_sets(max_graphs=1))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=30)
def test_what_igraph_writes_is_read(graphs: GraphSet, tmp_path: Path) -> None:
    made = igraph.Graph(n=graphs.nodes, edges=graphs.edge_list(0).tolist(), directed=True)
    if graphs.nodes:
        made.vs["type"] = [graphs.node_vocabulary[kind] for kind in graphs.node_types]
        made.vs["output"] = graphs.outputs.tolist()
    if graphs.edges:
        made.es["type"] = [graphs.edge_vocabulary[kind] for kind in graphs.edge_types_of(0)]
        made.es["operands"] = graphs.operand_words(0)
    made.write_graphml(str(tmp_path / "graph.graphml"))
    opened = load(tmp_path / "graph.graphml")
    assert [row[1:] for row in described(opened)] == [row[1:] for row in described(graphs)]
    assert opened.outputs.tolist() == graphs.outputs.tolist()
    assert opened.operand_words(0) == graphs.operand_words(0)


def test_whole_numbers_as_types_are_words(tmp_path: Path) -> None:
    made = igraph.Graph(n=2, edges=[(0, 1)], directed=True)
    made.vs["type"] = [3, 1]  # igraph writes them as fractions without a fraction
    made.write_graphml(str(tmp_path / "igraph.graphml"))
    other = networkx.DiGraph()
    other.add_node("a", type=3)
    other.add_node("b", type=1)
    other.add_edge("a", "b", weight=0.5)
    networkx.write_graphml(other, tmp_path / "networkx.graphml")
    for name in ("igraph", "networkx"):
        assert load(tmp_path / f"{name}.graphml").node_vocabulary == ("3", "1")


def test_undirected_graphs_and_parallel_edges_of_either_program_are_refused(tmp_path: Path) -> None:
    parallel = igraph.Graph(n=2, edges=[(0, 1), (0, 1)], directed=True)
    parallel.vs["type"] = "conv"
    multi = networkx.MultiDiGraph([("a", "b"), ("a", "b")])
    networkx.set_node_attributes(multi, "conv", "type")
    parallel.write_graphml(str(tmp_path / "a.graphml"))
    networkx.write_graphml(multi, tmp_path / "b.graphml")
    igraph.Graph.Ring(3).write_graphml(str(tmp_path / "c.graphml"))
    networkx.write_graphml(networkx.path_graph(3), tmp_path / "d.graphml")
    for name, reason in zip("abcd", ["is there twice"] * 2 + ["its graph is undirected"] * 2, strict=True):
        with pytest.raises(InputError, match=reason):
            load(tmp_path / f"{name}.graphml")


def test_several_graphs_and_defaults(tmp_path: Path) -> None:
    usual = '<key id="t" for="node" attr.name="type"><default> conv </default></key>'
    graph = '<graph edgedefault="directed"><edge source="x" target="y"/><node id="x"/><node id="y"/></graph>'
    path = write(tmp_path / "two.graphml", f"{HEAD}{usual}{graph}<graph id='second'/></graphml>")
    assert described(load(path)) == [
        (str(path), ["conv", "conv"], [[0, 1]], ["edge"]),
        ("second", [], [], []),
    ]


def test_another_attribute_can_hold_the_type(tmp_path: Path) -> None:
    path = write(tmp_path / "g.graphml", f"{HEAD}{KEYS.replace('type', 'operator')}{GRAPH}</graphml>")
    with pytest.raises(InputError, match="the node 'a' has no attribute 'type'"):
        load(path)
    graphs = load(path, ReadSettings(type_key="operator"))
    assert described(graphs) == [("G", ["conv", "add"], [[0, 1]], ["skip"])]


BOMB = (
    "<!DOCTYPE x [<!ENTITY a 'ha'>"
    + "".join(f"<!ENTITY {chr(98 + i)} '{f'&{chr(97 + i)};' * 10}'>" for i in range(20))
    + "]>"
)


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "is not GraphML: no element found"),
        ("not xml", "is not GraphML: syntax error"),
        ("<html/>", "it begins with <html>, not with <graphml>"),
        (f"{HEAD}</graphml>", "it holds no graph"),
        (f"{HEAD}{KEYS}{GRAPH}", "no element found"),
        (
            f"{BOMB}<graphml><graph id='&u;'/></graphml>",
            "is refused, for it declares a document type or entities",
        ),
        (
            "<!DOCTYPE x [<!ENTITY f SYSTEM 'secret.txt'>]><graphml>&f;</graphml>",
            "it declares a document type or entities",
        ),
        ("<!DOCTYPE x SYSTEM '../../x.dtd'><graphml/>", "it declares a document type or entities"),
        (f"{HEAD}<graph edgedefault='undirected'/></graphml>", "its graph is undirected"),
        (f"{HEAD}<graph><node/></graph></graphml>", "a node has no id"),
        (f"{HEAD}<graph><node id='a'/><node id='a'/></graph></graphml>", "or one that another has"),
        (f"{HEAD}<graph><edge source='a'/></graph></graphml>", "an edge has no source or no target"),
        (f"{HEAD}<graph><edge source='a' target='b'/></graph></graphml>", "lacks a node"),
        (
            f"{HEAD}{KEYS}{GRAPH.replace('</graph>', TWICE)}</graphml>",
            "is there twice",
        ),
        (f"{HEAD}<graph><edge directed='false'/></graph></graphml>", "an edge is undirected"),
        (f"{HEAD}<graph><hyperedge/></graph></graphml>", "it has a hyperedge"),
        (f"{HEAD}<graph><node id='a'><graph/></node></graph></graphml>", "it has a graph within a graph"),
        (HEAD + "<data>" * 100, "nested more than 50 deep"),
        (
            f"{HEAD}{KEYS}{GRAPH}</graphml>".replace(
                "skip</data>", "skip</data><data key='operands'>x</data>"
            ),
            "has operands 'x', not like 0, 0+1 or 1:0",
        ),
        ("<?xml version='1.0' encoding='klingon'?><graphml/>", ""),
    ],
)
def test_a_wrong_file_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    path = write(tmp_path / "bad.graphml", text)
    with pytest.raises(InputError) as error:
        load(path)
    assert str(path) in str(error.value)
    assert "\n" not in str(error.value)
    assert reason in str(error.value)


def fuzz(folder: Path, rounds: int) -> None:
    whole = f"{HEAD}{KEYS}{GRAPH}{GRAPH}</graphml>".encode()
    rng = random.Random(6)
    outcomes = {"read": 0, "refused": 0}
    for _ in range(rounds):
        path = folder / "mutated.graphml"
        path.write_bytes(mutated(whole, rng))
        outcomes[outcome(path, ReadSettings())] += 1
    assert min(outcomes.values()) > rounds // 100


def test_mutated_files(tmp_path: Path) -> None:
    fuzz(tmp_path, 300)


@pytest.mark.slow
def test_many_mutated_files(tmp_path: Path) -> None:
    fuzz(tmp_path, 10_000)
