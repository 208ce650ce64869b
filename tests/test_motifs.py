"""What comes back from `grade.mine`: the right patterns of every size, and the truth about what may be missing."""

import json
import subprocess
from collections import Counter
from math import comb
from pathlib import Path

import numpy as np
import pytest

import grade
from grade import GraphSet, Pattern
from grade.graphs.node_deletions import without
from grade.sampling.census import take_census
from grade.search import Constraints
from grade.search.beam import Bounds
from grade.support import ESTIMATE, Support
from grade.verify.estimates import mean_and_error
from tests.test_start import GRADE
from tests.verify.oracles import connected_subsets, dense

ALL = {"all": True, "threads": 1}


@pytest.fixture(scope="module")
def graphs() -> GraphSet:
    """Eight graphs of ten to seventeen nodes and two types: small patterns recur in most, larger ones in few."""
    random, types, edges, sizes, arcs = np.random.default_rng(21), [], [], range(10, 18), []
    for nodes in sizes:
        types += random.choice(3, nodes, p=[0.55, 0.35, 0.1]).tolist()
        pairs = {(int(random.integers(0, node)), node) for node in range(1, nodes) for _ in range(2)}
        edges += sorted(pairs)
        arcs.append(len(pairs))
    return GraphSet.from_edges(
        node_counts=list(sizes),
        node_types=types,
        edge_counts=arcs,
        edges=edges,
        node_vocabulary=["common", "other", "rare"],
    )


def occurrences_of(graphs: GraphSet, k: int) -> dict[str, list[tuple[int, ...]]]:
    """Every connected induced k-subgraph by its pattern's key: all node sets, one after the other."""
    found: dict[str, list[tuple[int, ...]]] = {}
    for graph in range(len(graphs)):
        types, edges = dense(graphs, graph)
        for nodes in connected_subsets(edges, k):
            pattern = Pattern.of(
                types[list(nodes)],
                edges[np.ix_(nodes, nodes)],
                graphs.node_vocabulary,
                graphs.edge_vocabulary,
            )
            key = pattern.key
            found.setdefault(key, []).append(tuple(int(graphs.node_offsets[graph]) + n for n in nodes))
    return found


def supports_of(graphs: GraphSet, rows: list[tuple[int, ...]]) -> dict[str, float]:
    per_graph = Counter(graphs.graph_of(row[0]) for row in rows)
    nodes = graphs.node_counts
    return {
        "occurrences": len(rows),
        "graphs": len(per_graph),
        "coverage": len({node for row in rows for node in row}),
        "by graph": sum(count / int(nodes[graph]) for graph, count in per_graph.items()),
    }


@pytest.mark.parametrize("rank_by", ["occurrences", "graphs", "coverage"])
@pytest.mark.parametrize("k", [3, 4])
def test_every_size_is_ranked_as_asked(graphs: GraphSet, k: int, rank_by: str) -> None:
    truth = {key: supports_of(graphs, rows)[rank_by] for key, rows in occurrences_of(graphs, k).items()}
    found = grade.mine(graphs, k=k, top=5, rank_by=rank_by, beam=3000, **ALL)
    assert [truth[motif.key] for motif in found] == sorted(truth.values(), reverse=True)[:5]
    assert found.catalogue.run["complete"]
    assert found.catalogue.run["left_out"] == []


def test_several_sizes_are_each_found_as_if_alone(graphs: GraphSet) -> None:
    several = grade.mine(graphs, k=range(3, 6), top=4, rank_by="occurrences", beam=3000, **ALL)
    assert several.catalogue.run["settings"]["k"] == "3-5"
    for k in (3, 4, 5):
        alone = grade.mine(graphs, k=k, top=4, rank_by="occurrences", beam=3000, **ALL)
        assert {m.key: m.support for m in several if m.size == k} == {m.key: m.support for m in alone}


def test_each_size_has_patterns_that_satisfy_the_constraints(graphs: GraphSet) -> None:
    """A beam of three would hold hardly any pattern with a rare type, if it were all that a size is chosen from."""
    found = grade.mine(graphs, k="3-5", top=3, contains="rare", rank_by="occurrences", beam=3, **ALL)
    assert Counter(motif.size for motif in found) == {3: 3, 4: 3, 5: 3}
    assert all("rare" in motif.pattern.type_names for motif in found)


def test_graphs_can_count_the_same_whatever_their_size(graphs: GraphSet) -> None:
    truth = {key: supports_of(graphs, rows)["by graph"] for key, rows in occurrences_of(graphs, 4).items()}
    changes = {"rank_by": "occurrences", "weighting": "graphs", "beam": 3000, **ALL}
    found = grade.mine(graphs, k=4, top=6, **changes)
    assert [truth[m.key] for m in found] == pytest.approx(sorted(truth.values(), reverse=True)[:6])
    assert [m.score for m in found] == pytest.approx([truth[m.key] for m in found])


def test_complete_mode_is_the_filtered_census(graphs: GraphSet) -> None:
    for k in (3, 4, 5):
        truth = {key: supports_of(graphs, rows) for key, rows in occurrences_of(graphs, k).items()}
        wanted = {key for key, supports in truth.items() if supports["graphs"] >= 3}
        found = grade.mine(graphs, k=k, top=4, complete=True, min_graphs=3, rank_by="graphs", threads=1)
        assert {motif.key for motif in found} == wanted
        assert [m.support.graphs for m in found] == sorted((truth[k]["graphs"] for k in wanted), reverse=True)
        assert all(m.support.occurrences == truth[m.key]["occurrences"] for m in found)
        assert found.catalogue.run["complete"]


@pytest.mark.parametrize("kind", ["closed", "maximal"])
def test_closed_and_maximal_patterns(graphs: GraphSet, kind: str) -> None:
    k, least = 4, 3
    support = {
        size: {key: supports_of(graphs, rows)["graphs"] for key, rows in occurrences_of(graphs, size).items()}
        for size in (k, k + 1)
    }
    larger = take_census(graphs, k + 1).patterns
    above: dict[str, list[float]] = {}
    for node in range(k + 1):
        rows, parts = without(larger, node)
        for row, part in zip(rows.tolist(), parts, strict=True):
            above.setdefault(part.key, []).append(support[k + 1][larger[row].key])
    wanted = {
        key
        for key, value in support[k].items()
        if value >= least
        and not any(other == value if kind == "closed" else other >= least for other in above.get(key, []))
    }
    found = grade.mine(graphs, k=k, complete=True, min_graphs=least, rank_by="graphs", **{kind: True})
    assert {motif.key for motif in found} == wanted
    assert 0 < len(wanted) < sum(value >= least for value in support[k].values())


def test_what_may_be_missing_is_said(tmp_path: Path) -> None:
    arguments = [
        "zoo-mini",
        "-k",
        "5",
        "--all",
        "--beam",
        "20",
        "--list-size",
        "5",
        "--rank-by",
        "occurrences",
    ]
    command = [*GRADE, "mine", *arguments, "--out", str(tmp_path / "run")]
    text = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    sentence = (
        "perhaps not complete: the search met more patterns of 3, 4 nodes than it keeps (--beam); it kept only some"
        " occurrences of patterns of 3, 4 nodes (--list-size, --memory); occurrences of 5 nodes were estimated to rank"
        " by them (--list-size, --memory)"
    )
    assert sentence in text.splitlines()
    shown = subprocess.run(
        [*GRADE, "runs", "show", str(tmp_path / "run"), "--json"], capture_output=True, text=True, check=True
    )
    data = json.loads(shown.stdout)
    assert data["complete"] is False
    assert data["left_out"][0] == "the search met more patterns of 3, 4 nodes than it keeps (`beam`)"
    page = grade.report(tmp_path / "run").read_text()
    assert (
        "Perhaps not complete: the search met more patterns of 3, 4 nodes than it keeps (<code>beam</code>);"
        in page
    )


def test_a_short_list_says_why(graphs: GraphSet) -> None:
    kinds = len(take_census(graphs, 3).patterns)
    found = grade.mine(graphs, k=3, top=kinds + 1, **ALL)
    assert len(found) == kinds
    assert found.catalogue.run["notes"] == [
        f"Only {kinds} patterns of 3 nodes that the search met satisfy the constraints; relax one for more."
    ]
    with pytest.raises(grade.InputError, match=r"`min_graphs` is 9, but the set has 8 graphs; lower it"):
        grade.mine(graphs, k=3, min_graphs=9)
    most = max(supports_of(graphs, rows)["graphs"] for rows in occurrences_of(graphs, 5).values())
    with pytest.raises(
        grade.InputError, match=r"`min_graphs` 8; the most is \d.*search for smaller patterns"
    ):
        grade.mine(graphs, k=5, min_graphs=8, **ALL)
    assert most < 8


def test_no_larger_patterns_leave_the_smaller_ones(graphs: GraphSet) -> None:
    found = grade.mine(graphs, k="3-6", min_graphs=7, rank_by="graphs", **ALL)
    assert {motif.size for motif in found} < {3, 4, 5, 6}
    assert any("search for smaller patterns" in note for note in found.catalogue.run["notes"])
    with pytest.raises(grade.InputError, match="`closed` and `maximal` compare all patterns"):
        grade.mine(graphs, k=4, closed=True)


def test_intervals_cover_what_they_claim() -> None:
    """Four replicates of a normal estimator: 95 % of the intervals hold the truth, where two errors held 86 %."""
    random = np.random.default_rng(4)
    replicates = random.normal(1000.0, 50.0, (4, 20_000))
    means, errors = mean_and_error(list(replicates))
    supports = [
        Support(mean, ESTIMATE, standard_error=error)
        for mean, error in zip(means.tolist(), errors.tolist(), strict=True)
    ]
    intervals = [support.interval or (0, 0) for support in supports]
    inside = np.mean([low <= 1000.0 <= high for low, high in intervals])
    assert abs(inside - 0.95) < 0.01
    assert Support(5).interval is None
    assert Support(1e10, ESTIMATE, standard_error=1e9).shown("occurrences") == "~ 1.00e+10 ± 3.2e+09"


def test_constraints_apply_however_they_are_made(graphs: GraphSet) -> None:
    table = take_census(graphs, 4).patterns
    limited = Constraints(max_in_degree=1)
    accepted = [str(p) for p, ok in zip(table, limited.accepts(table), strict=True) if ok]
    arcs = [[(i, j) for i, j, _ in p.edge_list if i != j] for p in table]
    expected = [
        str(p)
        for p, pairs in zip(table, arcs, strict=True)
        if max(Counter(j for _, j in pairs).values(), default=0) <= 1
    ]
    assert accepted == expected
    assert limited.describe() == ["in-degree at most 1"]
    assert (limited.may_grow(table) == limited.accepts(table)).all()


def test_self_loops_count_for_no_limit() -> None:
    """One thing everywhere: degrees, edges, sources and sinks are those without self-loops."""
    looped = GraphSet.from_edges(
        node_counts=[3],
        node_types=[0, 1, 2],
        edge_counts=[5],
        edges=[[0, 1], [1, 2], [0, 0], [1, 1], [2, 2]],
        node_vocabulary=["a", "b", "c"],
    )
    for wishes in (
        {"max_edges": 2},
        {"max_in_degree": 1, "max_out_degree": 1},
        {"single_source": True},
        {"single_sink": True},
        {"min_edges": 2},
    ):
        assert len(grade.mine(looped, k=3, **wishes, **ALL)) == 1, wishes
    for wishes in ({"min_edges": 3}, {"acyclic": True}):
        with pytest.raises(grade.InputError):
            grade.mine(looped, k=3, **wishes, **ALL)


def test_an_empty_answer_names_all_sizes_that_were_asked_for(graphs: GraphSet) -> None:
    for k, sizes in (("3-5", "3 to 5"), (5, "5")):
        with pytest.raises(grade.InputError, match=f"No pattern of {sizes} nodes in .* relax one"):
            grade.mine(graphs, k=k, min_edges=5, max_in_degree=1, max_out_degree=1, threads=1)


def test_what_can_be_counted_is_not_estimated(tmp_path: Path) -> None:
    """A hub of 300 leaves has 2e10 occurrences, which a binomial counts; an estimate would take far longer."""
    leaves = 300
    star = GraphSet.from_edges(
        node_counts=[leaves + 1],
        node_types=[0] + [1] * leaves,
        edge_counts=[leaves],
        edges=[[0, leaf] for leaf in range(1, leaves + 1)],
        node_vocabulary=["hub", "leaf"],
    )
    found = grade.mine(star, k=6, out=tmp_path / "run", **ALL)
    assert [(m.support.occurrences, m.support.occurrences_quality) for m in found] == [
        (comb(leaves, 5), "exact")
    ]
    assert not list((tmp_path / "run" / "supports").glob("*estimates*"))


def test_notes_name_flags_on_the_command_line(tmp_path: Path) -> None:
    arguments = [
        "mine",
        "zoo-mini",
        "-k",
        "3-5",
        "--all",
        "--min-graphs",
        "7",
        "--out",
        str(tmp_path / "run"),
    ]
    text = subprocess.run([*GRADE, *arguments], capture_output=True, text=True, check=True).stdout
    assert "has --min-graphs 7; the most is 2. Lower it, or search for smaller patterns." in text


def test_thinned_growth_is_said(graphs: GraphSet, monkeypatch: pytest.MonkeyPatch) -> None:
    """Where not every way to grow is followed, patterns can be missed, whatever ranks them."""
    whole = grade.mine(graphs, k=4, rank_by="graphs", beam=3000, **ALL).catalogue.run
    monkeypatch.setattr("grade.job.bounds_within", lambda *_: Bounds(capacity=1066, list_size=26))
    thinned = grade.mine(graphs, k=4, rank_by="graphs", beam=10, **ALL).catalogue.run
    assert whole["complete"]
    assert "only a share of the occurrences grew to 4 nodes (`list_size`, `memory`)" in thinned["left_out"]
