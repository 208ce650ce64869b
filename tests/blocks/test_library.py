"""Blocks of a folder found again: by exact matching, in the set that they are from and in others."""

import itertools
import json
from pathlib import Path
from typing import Any

import networkx
import numpy as np
import onnx
import pytest
from hypothesis import given, settings

import grade
from grade import GraphSet, InputError, _core
from grade.blocks import Blocks
from grade.blocks.grammar import Wiring, both_lists
from grade.blocks.outline import outline
from grade.sealed import checksum_of, sealed_description
from tests.blocks.graphs import acyclic_sets
from tests.blocks.test_grammar import assert_exact
from tests.blocks.test_identity import as_networkx, same
from tests.blocks.test_outline import assert_same, results, stack, written


def assert_occurrences(found: Blocks) -> None:
    """Every occurrence is the block, place by place, and only its root is read from outside."""
    wiring = found.grammar.wiring
    edges = set(zip(wiring.sources.tolist(), wiring.targets.tolist(), wiring.labels.tolist(), strict=True))
    for block in found:
        types, inner = found.grammar.structure(block.symbol)
        root = int(found.grammar.roots[block.symbol])
        for nodes in found.occurrences(block).tolist():
            np.testing.assert_array_equal(wiring.types[nodes], types)
            mine = {(nodes[source], nodes[target], label) for source, target, label in inner.tolist()}
            assert mine <= edges
            left = {edge for edge in edges if edge[0] in nodes} - mine
            assert {edge[0] for edge in left} <= {nodes[root]}


def test_a_set_is_written_with_its_own_blocks(tmp_path: Path) -> None:
    first = grade.blocks("zoo-mini", out=tmp_path / "kept")
    again = grade.blocks("zoo-mini", blocks=tmp_path / "kept")
    assert_exact(again.grammar)
    assert {block.name for block in again} == {block.name for block in first}
    assert {b.name: b.nodes for b in again} == {b.name: b.nodes for b in first}
    assert again.units <= first.units
    largest = max(first, key=lambda block: block.nodes)
    assert again[largest.name].count == largest.count
    vit = list(again.graphs.graph_names).index("timm/vit_base_patch16_224_miil")
    assert max(unit.copies for unit in again.outline(vit)) == 12


@given(acyclic_sets(max_nodes=10), acyclic_sets(max_nodes=10))
@settings(deadline=None, max_examples=100)
def test_occurrences_in_other_sets(
    tmp_path_factory: pytest.TempPathFactory, one: GraphSet, other: GraphSet
) -> None:
    folder = tmp_path_factory.mktemp("library") / "kept"
    grade.blocks(one, out=folder)
    found = grade.blocks(other, blocks=folder)
    assert_exact(found.grammar)
    assert_occurrences(found)


@given(acyclic_sets(max_graphs=1, max_nodes=8), acyclic_sets(max_graphs=1, max_nodes=4))
@settings(deadline=None, max_examples=200)
def test_matching_against_all_subsets(graphs: GraphSet, sought: GraphSet) -> None:
    """A node is the root of an occurrence exactly when some node set with it is one, by networkx."""
    wiring, pattern = Wiring.of(graphs), Wiring.of(sought)
    sinks = np.setdiff1d(np.arange(sought.nodes), pattern.sources)
    if len(sinks) != 1:  # no block
        return
    labels = {name: i for i, name in enumerate(wiring.label_names)}
    words = [labels.get(pattern.label_names[label], 9) for label in pattern.labels]
    edges = np.array([pattern.sources, pattern.targets, words], np.uint32).T
    whole, part = as_networkx(graphs, 0), as_networkx(sought, 0)
    for root in range(graphs.nodes):
        found = _core.region_occurrences(
            wiring.types,
            *both_lists(wiring),
            wiring.closed.astype(np.uint8),
            pattern.types,
            np.ascontiguousarray(edges).reshape(-1),
            int(sinks[0]),
            np.array([root], np.uint32),
            np.zeros(graphs.nodes, np.uint8),
        )
        others = set(range(graphs.nodes)) - {root}
        expected = [
            {root, *rest}
            for rest in itertools.combinations(others, sought.nodes - 1)
            if all(set(whole.successors(node)) <= {root, *rest} for node in rest)
            and is_rooted(whole.subgraph({root, *rest}), part, root)
        ]
        assert bool(len(found)) == bool(expected)
        if len(found):
            assert set(found.tolist()) in expected


def is_rooted(region: networkx.DiGraph, part: networkx.DiGraph, root: int) -> bool:
    return region.out_degree(root) == 0 and same(region, part)


def kept_layer(run: Any, tmp_path: Path) -> None:
    """A folder with the layer of a stack, under a name of its own."""
    written(stack(4), tmp_path / "small.onnx")
    assert run("blocks", "small.onnx", "--out", "kept")[0] == 0
    names = json.loads((tmp_path / "kept/names.json").read_text())
    assert len(names) == 1
    (tmp_path / "kept/names.json").write_text(json.dumps(dict.fromkeys(names, "TheLayer")))
    assert run("blocks", "small.onnx", "--out", "kept")[0] == 0


def test_a_library_is_found_in_another_model(run: Any, tmp_path: Path) -> None:
    """Also where it occurs once, so that nothing in the model repeats."""
    kept_layer(run, tmp_path)
    for layers in (1, 6):
        written(stack(layers), tmp_path / "model.onnx")
        code, out, err = run("outline", "model.onnx", "--blocks", "kept", "--out", "out.onnx", "--json")
        assert (code, err) == (0, "")
        assert json.loads(out)["calls"] == layers
        after = onnx.load(tmp_path / "out.onnx")
        assert [function.name for function in after.functions] == ["TheLayer"]
        assert_same(stack(layers), after)
        np.testing.assert_array_equal(results(stack(layers), False)[0], results(after, False)[0])
    code, out, _ = run("blocks", "model.onnx", "--blocks", "kept")
    assert code == 0
    assert "6 x TheLayer" in out


def test_occurrences_that_differ_are_functions_of_their_own(run: Any, tmp_path: Path) -> None:
    kept_layer(run, tmp_path)
    before = stack(5)
    for number, node in enumerate(n for n in before.graph.node if n.op_type == "LayerNormalization"):
        node.attribute[0].f = 1e-5 if number < 3 else 1e-3
    after = outline(written(before, tmp_path / "model.onnx"), only=tmp_path / "kept").model
    assert_same(before, after)
    assert sorted(function.name for function in after.functions) == ["TheLayer", "TheLayer-2"]
    assert [node.op_type for node in after.graph.node] == ["TheLayer"] * 3 + ["TheLayer-2"] * 2


def test_a_library_of_another_kind_finds_nothing(run: Any, tmp_path: Path) -> None:
    kept_layer(run, tmp_path)
    data = json.loads(run("blocks", "zoo-mini", "--blocks", "kept", "--json")[1])
    assert data["blocks"] == []
    assert data["units"] == data["nodes"] == 4187


def test_bad_libraries_are_refused(run: Any, tmp_path: Path) -> None:
    kept_layer(run, tmp_path)
    written(stack(3), tmp_path / "model.onnx")
    arrays = dict(np.load(tmp_path / "kept/grammar.npz"))
    code, _, err = run("outline", "model.onnx", "--blocks", "none", "--out", "out.onnx")
    assert code == 2
    assert "none holds no blocks" in err
    code, _, err = run("blocks", "model.onnx", "--blocks", "kept", "--min-count", "3")
    assert code == 2
    assert "--min-count limits the search for new blocks" in err
    damaged = [
        {**arrays, "first": arrays["first"] + 10**6},
        {**arrays, "block_symbols": arrays["block_symbols"] + 10**6},
        {**arrays, "reads": arrays["reads"] + 10**6},
        {name: value for name, value in arrays.items() if name != "type_names"},
        {**arrays, "roots": arrays["roots"] + 10**6},
        {**arrays, "read_offsets": arrays["read_offsets"][::-1]},
    ]
    result = tmp_path / "kept/blocks.json"
    for each in damaged:
        np.savez(tmp_path / "kept/grammar.npz", **each)
        code, _, err = run("outline", "model.onnx", "--blocks", "kept", "--out", "out.onnx")
        assert (code, err.count("\n")) == (2, 1), err
        assert "kept/grammar.npz is damaged; find the blocks again" in err
        content = {name: value for name, value in json.loads(result.read_text()).items() if name != "sha256"}
        forged = sealed_description(content, {"grammar.npz": checksum_of(tmp_path / "kept/grammar.npz")})
        result.write_text(forged)
        code, _, err = run("outline", "model.onnx", "--blocks", "kept", "--out", "out.onnx")
        assert (code, err.count("\n")) == (2, 1), err
        assert "blocks in kept cannot be read" in err
    result.write_text(forged.replace('"count": ', '"count": 1'))
    assert "kept/blocks.json is damaged" in run("blocks", "model.onnx", "--blocks", "kept").err
    result.write_text(forged.replace('"format": 2', '"format": 1'))
    assert "written by an earlier version" in run("blocks", "model.onnx", "--blocks", "kept").err
    (tmp_path / "kept/grammar.npz").write_bytes(b"nothing")
    assert run("outline", "model.onnx", "--blocks", "kept", "--out", "out.onnx")[0] == 2
    assert not (tmp_path / "out.onnx").exists()


def test_limits_are_settings_of_the_search(tmp_path: Path) -> None:
    grade.blocks("zoo-mini", out=tmp_path / "kept")
    with pytest.raises(InputError, match="`max_size` limits the search"):
        grade.blocks("zoo-mini", blocks=tmp_path / "kept", max_size=5)
