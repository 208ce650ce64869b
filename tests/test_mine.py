"""Mining end to end: right answers, constraints, resuming after a kill, and clear refusals."""

import json
import math
import re
import subprocess
import sys
from itertools import combinations
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import numpy as np
import pytest

from grade import mine as flow
from grade.errors import InputError
from grade.graphs import GraphSet, PatternTable
from grade.graphs.storage import save_graph_set
from grade.report.overlap import contained_in
from grade.runs import Catalogue, RunFolder
from grade.sampling.census import take_census
from grade.search.beam import Bounds
from grade.sources import load
from grade.verify import read_patterns
from grade.verify.distinct import Selector

GRADE = [sys.executable, "-m", "grade.cli"]


def mine(out: Path, **changes: Any) -> Catalogue:
    plain = {"rank_by": "occurrences", "all": True}  # the paper's objective
    chosen = {"graphs": "zoo-mini", "k": 5, "top": 10, "threads": 2, **plain, **changes}
    return flow.mine(out=out, **chosen).catalogue


@pytest.fixture(scope="module")
def census() -> dict[str, int]:
    counted = take_census(load("zoo-mini"), 5)
    return {p.key: int(c) for p, c in zip(counted.patterns, counted.counts, strict=True)}


def test_the_most_frequent_patterns_are_found_with_their_exact_counts(
    tmp_path: Path, census: dict[str, int]
) -> None:
    found = mine(tmp_path / "run")
    best = sorted(census.values(), reverse=True)[:10]
    assert [motif.support.occurrences for motif in found.motifs] == best
    assert all(census[motif.key] == motif.support.occurrences for motif in found.motifs)
    assert {motif.support.occurrences_quality for motif in found.motifs} == {"exact"}
    assert [level["size"] for level in found.levels] == [3, 4, 5]
    for motif in found.motifs:
        assert sum(count for _, count in motif.support.per_graph) == motif.support.occurrences
        assert len(motif.support.per_graph) == motif.support.graphs
        assert motif.support.disjoint <= motif.support.occurrences
        assert motif.support.disjoint * 5 <= motif.support.coverage


@pytest.mark.parametrize("rank_by", ["graphs", "disjoint", "coverage"])
def test_other_supports_rank_the_result(tmp_path: Path, rank_by: str) -> None:
    found = mine(tmp_path / "run", rank_by=rank_by)
    values = [getattr(motif.support, rank_by) for motif in found.motifs]
    assert values == sorted(values, reverse=True)
    assert values[0] > values[-1]


def test_every_result_satisfies_the_constraints(tmp_path: Path) -> None:
    wishes = {"contains": ["Conv*"], "max_in_degree": 1, "never": ["Relu"], "min_graphs": 3}
    found = mine(tmp_path / "run", **wishes)
    assert found.motifs
    for motif, pattern in zip(found.motifs, found.patterns, strict=True):
        assert any(name.startswith("Conv") for name in pattern.type_names)
        assert "Relu" not in pattern.type_names
        assert max(sum(1 for row in pattern.edges if row[j]) for j in range(5)) <= 1
        assert motif.support.graphs >= 3


def test_fusible_counts_only_what_can_be_fused(tmp_path: Path, census: dict[str, int]) -> None:
    found = mine(tmp_path / "run", fusible=True)
    assert found.motifs
    assert all(0 < motif.support.occurrences <= census[motif.key] for motif in found.motifs)
    assert any(motif.support.occurrences < census[motif.key] for motif in found.motifs)


def test_the_sampling_baseline(tmp_path: Path, census: dict[str, int]) -> None:
    found = mine(tmp_path / "run", method="sampling", samples=3000)
    assert all(census[motif.key] == motif.support.occurrences for motif in found.motifs)
    assert found.motifs[0].support.occurrences == max(census.values())


def test_an_estimator_ranks_the_search(tmp_path: Path, census: dict[str, int]) -> None:
    changes = {"rank_by": "estimator", "estimator": "frequency", "samples": 5000, "beam": 100}
    found = mine(tmp_path / "run", **changes)
    counts = [census[motif.key] for motif in found.motifs]
    assert sum(counts) > 0.7 * sum(sorted(census.values(), reverse=True)[:10])
    assert (tmp_path / "run" / "models" / "k-05").is_dir()
    scores = [motif.score for motif in found.motifs]
    assert scores == sorted(scores, reverse=True)


def test_counts_past_enumeration_get_an_estimate_with_its_error(tmp_path: Path, monkeypatch: Any) -> None:
    """Where exact counting runs out of time, the estimate stands in; here nothing is counted at all."""
    from grade.support import Support
    from grade.verify import Verifier

    counted = take_census(load("zoo-mini"), 6)
    truth = {p.key: int(c) for p, c in zip(counted.patterns, counted.counts, strict=True)}

    def out_of_time(verifier: Any, pattern: Any, *_: Any, **__: Any) -> Support:
        return Support(1, "lower bound", graphs=1, disjoint=1, coverage=6)

    monkeypatch.setattr(Verifier, "support", out_of_time)
    monkeypatch.setattr("grade.job.bounds_within", lambda *_: Bounds(capacity=20_000, list_size=16))
    found = mine(tmp_path / "run", k=6, list_size=40, beam=300)
    assert len(found.motifs) == 10
    for motif in found.motifs:
        assert motif.support.occurrences_quality == "estimate"
        assert motif.support.standard_error is not None
        assert 0 < motif.support.standard_error < truth[motif.key]
        distance = abs(motif.support.occurrences - truth[motif.key])
        assert distance < 6 * motif.support.standard_error + 0.1 * truth[motif.key]


def test_a_star_is_counted_and_not_estimated(tmp_path: Path) -> None:
    """Six nodes of a hub with 1,500 leaves: exact counting takes a moment, so that no estimate is drawn."""
    leaves = 1500
    star = GraphSet.from_edges(
        node_counts=[leaves + 1],
        node_types=[0] + [1] * leaves,
        edge_counts=[leaves],
        edges=[[0, leaf + 1] for leaf in range(leaves)],
        node_vocabulary=["hub", "leaf"],
    )
    found = mine(tmp_path / "run", graphs=star, k=6, memory="1G")
    assert [motif.support.occurrences for motif in found.motifs] == [math.comb(leaves, 5)]
    assert found.motifs[0].support.complete
    assert not list((tmp_path / "run" / "supports").glob("*estimates*"))


def test_a_finished_run_is_not_done_again(tmp_path: Path) -> None:
    first = mine(tmp_path / "run")
    changed = (tmp_path / "run" / "catalogue.sqlite").stat().st_mtime_ns
    assert mine(tmp_path / "run", threads=1) == first
    assert (tmp_path / "run" / "catalogue.sqlite").stat().st_mtime_ns == changed


def test_a_run_with_other_settings_is_not_mixed_up(tmp_path: Path) -> None:
    mine(tmp_path / "run")
    with pytest.raises(InputError, match=r"other settings \(beam\)"):
        mine(tmp_path / "run", beam=17)
    (tmp_path / "notes").mkdir()
    (tmp_path / "notes" / "mine.txt").write_text("precious")
    with pytest.raises(InputError, match="is no run"):
        mine(tmp_path / "notes")
    assert (tmp_path / "notes" / "mine.txt").read_text() == "precious"


class Ticking:
    """A clock that goes on by so much at every look."""

    def __init__(self, step: float) -> None:
        self.step, self.now = step, 0.0

    def __call__(self) -> float:
        self.now += self.step
        return self.now


def test_a_time_budget_gives_the_best_so_far(tmp_path: Path, monkeypatch: Any) -> None:

    with monkeypatch.context() as patched:
        patched.setattr("grade.progress.time", SimpleNamespace(monotonic=Ticking(1.0)))
        found = mine(tmp_path / "run", k=8, time_budget="12s")
    assert found.run["partial"]
    assert 3 <= found.motifs[0].size < 8
    # Started again without the budget it goes on, and ends as if it had never been stopped.
    assert mine(tmp_path / "run", k=8) == mine(tmp_path / "whole", k=8)


def test_a_time_budget_that_ends_during_the_verification(tmp_path: Path, monkeypatch: Any) -> None:
    """What was cut short is reported, and counted in full when the run goes on."""

    whole = mine(tmp_path / "whole")
    mine(tmp_path / "run")  # the levels are there: only the counting is left
    (tmp_path / "run" / "catalogue.sqlite").unlink()
    for file in (tmp_path / "run" / "supports").iterdir():
        file.unlink()
    with monkeypatch.context() as patched:
        patched.setattr("grade.progress.time", SimpleNamespace(monotonic=Ticking(1.0)))
        found = mine(tmp_path / "run", time_budget="8s")
    assert found.run["partial"]
    assert 0 < len(found.motifs) < 10
    assert {motif.size for motif in found.motifs} == {5}
    assert mine(tmp_path / "run") == whole


def test_counts_that_a_budget_cut_short_are_not_stored(tmp_path: Path, monkeypatch: Any) -> None:
    from grade.support import Support
    from grade.verify import Verifier

    def cut_off(verifier: Any, pattern: Any, seconds: float, clock: float, **_: Any) -> Support:
        assert clock < seconds == 100.0
        verifier.late = True
        return Support(1, "lower bound", graphs=1, disjoint=1, coverage=5)

    long = {"seconds_per_pattern": 100.0}
    with monkeypatch.context() as patched:
        patched.setattr(Verifier, "support", cut_off)
        found = mine(tmp_path / "run", time_budget="60s", **long)
    assert found.run["partial"]
    assert not list((tmp_path / "run" / "supports").glob("k-05-[0-9]*"))
    assert mine(tmp_path / "run", **long) == mine(tmp_path / "whole", **long)


def test_a_budget_too_short_for_the_constraints_is_refused(tmp_path: Path, monkeypatch: Any) -> None:
    """No pattern of 3 nodes has 4 edges here, so there is nothing to report yet; the run goes on with more time."""

    changes = {"min_edges": 5, "k": 6}
    with monkeypatch.context() as patched:
        patched.setattr("grade.progress.time", SimpleNamespace(monotonic=Ticking(1.0)))
        with pytest.raises(InputError, match="raise `time_budget`"):
            mine(tmp_path / "run", time_budget="4s", **changes)
    assert not (tmp_path / "run" / "catalogue.sqlite").exists()
    assert mine(tmp_path / "run", **changes).motifs


def test_training_stops_with_the_budget(tmp_path: Path) -> None:
    changes = {
        "rank_by": "estimator",
        "estimator": "autoregressive",
        "preset": "fast",
        "samples": 300,
        "k": 4,
    }
    found = mine(tmp_path / "run", time_budget="0.5s", **changes)
    assert found.run["partial"]
    assert found.motifs[0].size == 3
    assert not (tmp_path / "run" / "models" / "k-04").exists()


def test_the_command_prints_a_table_and_json(tmp_path: Path) -> None:
    arguments = ["mine", "zoo-mini", "-k", "4", "--top", "3", "--out", str(tmp_path / "run")]
    table = subprocess.run(
        [*GRADE, *arguments], capture_output=True, text=True, check=True
    ).stdout.splitlines()
    assert table[0].startswith(f"{tmp_path / 'run'}: 3 distinct motifs of zoo-mini")
    assert len([line for line in table if " -> " in line]) == 3
    shown = subprocess.run(
        [*GRADE, "runs", "show", str(tmp_path / "run"), "--json"], capture_output=True, text=True, check=True
    )
    data = json.loads(shown.stdout)
    assert [motif["id"] for motif in data["motifs"]] == [1, 2, 3]
    assert data["motifs"][0]["occurrences_quality"] == "exact"


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["zoo-mini", "-k", "2"], "-k is 2; give 3 to 16"),
        (["nas-bench-201", "-k", "9"], "largest graph of nas-bench-201 has 8 nodes"),
        (["zoo-mini", "-k", "4", "--contains", "Konv*"], "No node type of the set matches 'Konv*'"),
        (["zoo-mini", "-k", "4", "--rank-by", "beauty"], "no ranking named 'beauty'"),
        (["zoo-mini", "-k", "4", "--memory", "lots"], "'lots' is not a size"),
        (["zoo-mini", "-k", "4", "--time-budget", "soon"], "'soon' is not a length of time"),
        (["zoo-mini", "-k", "4", "--top", "0"], "--top is 0"),
        (["zoo-mini", "-k", "4", "--method", "magic"], "no method 'magic'"),
        (["zoo", "-k", "4", "--memory", "1K"], "MiB or more; set --memory to"),
        (["zoo-mini", "-k", "5", "--min-edges", "20"], "No pattern of 5 nodes in zoo-mini satisfies"),
        (["nowhere", "-k", "4"], "nowhere"),
    ],
)
def test_bad_input_gets_one_sentence(tmp_path: Path, arguments: list[str], sentence: str) -> None:
    result = subprocess.run(
        [*GRADE, "mine", *arguments, "--out", str(tmp_path / "run")], capture_output=True, text=True
    )
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert sentence in result.stderr
    assert not (tmp_path / "run" / "catalogue.sqlite").exists()


def test_a_budget_that_is_too_small_says_what_is_enough(tmp_path: Path) -> None:
    """And it is: the run that follows the advice stays within it."""
    arguments = [
        *GRADE,
        "mine",
        "zoo",
        "-k",
        "6",
        "--top",
        "5",
        "--rank-by",
        "occurrences",
        "--all",
        "--json",
    ]
    refused = subprocess.run(
        [*arguments, "--memory", "100M", "--out", tmp_path / "run"], capture_output=True, text=True
    )
    advice = re.search(r"set --memory to (\d+)M\.$", refused.stderr.strip())
    assert (refused.returncode, advice is not None) == (2, True)
    assert not (tmp_path / "run").exists()
    assert advice is not None
    enough = subprocess.run(
        [*arguments, "--memory", f"{advice[1]}M", "--out", tmp_path / "run"], capture_output=True, text=True
    )
    assert enough.returncode == 0, enough.stderr
    answer = json.loads(enough.stdout)
    assert 50 << 20 < answer["peak_memory"] <= int(advice[1]) << 20
    assert len(answer["motifs"]) == 5


def test_a_residual_network_has_the_blocks_that_its_plan_dictates(tmp_path: Path) -> None:
    """A chain of n residual blocks: conv -> relu -> conv -> add, with a skip from the block's input to the add."""
    blocks, types, edges = 9, [0], []
    for _ in range(blocks):
        entry = len(types) - 1
        types += [1, 2, 1, 3]
        edges += [[entry, entry + 1], [entry + 1, entry + 2], [entry + 2, entry + 3], [entry + 3, entry + 4]]
        edges += [[entry, entry + 4]]
    graphs = GraphSet.from_edges(
        node_counts=[len(types)] * 2,
        node_types=types * 2,
        edge_counts=[len(edges)] * 2,
        edges=np.array(edges * 2),
        node_vocabulary=["input", "Conv", "Relu", "Add"],
        graph_names=["first", "second"],
    )
    save_graph_set(graphs, tmp_path / "set")
    found = mine(tmp_path / "run", graphs=str(tmp_path / "set"), min_edges=5, single_source=True)
    block = next(
        m for m in found.motifs if m.text == "Add#1 -> Conv#1 -> Relu -> Conv#2 -> Add#2; Add#1 -> Add#2"
    )
    assert block.support.occurrences == 2 * (blocks - 1)
    assert block.support.graphs == 2
    assert found.most_common(block, 10) == [("first", blocks - 1), ("second", blocks - 1)]


def test_a_distinct_few_are_shown_by_default(tmp_path: Path) -> None:
    graphs = load("zoo-mini")
    found = flow.mine(graphs, k="3-6", top=12, out=tmp_path / "run", threads=2)
    shown = found.shown
    assert [motif.id for motif in shown] == list(range(1, 13))
    assert {motif.size for motif in shown} > {3}
    gains = [motif.choice.gain for motif in shown if motif.choice]
    assert gains == sorted(gains, reverse=True)
    assert found.catalogue.run["distinct"]["covered"] == sum(gains)
    selector = Selector(graphs, [PatternTable.from_keys([m.key], graphs.node_vocabulary) for m in found])
    masks = {motif.id: selector.mask(motif.id - 1) for motif in found}
    for a, b in combinations(shown, 2):
        both = (masks[a.id] & masks[b.id]).sum()
        assert 2 * both <= min(masks[a.id].sum(), masks[b.id].sum())
    for motif in shown:
        for other in found.catalogue.variants(motif):
            both = (masks[motif.id] & masks[other.id]).sum()
            assert 2 * both > min(masks[motif.id].sum(), masks[other.id].sum())
    assert any(found.catalogue.variants(motif) for motif in shown)
    everything = flow.mine(graphs, k="3-6", top=12, all=True, threads=2)
    assert everything.catalogue.run["distinct"] is None
    values = [motif.support.value("coverage") for motif in everything]
    assert values == sorted(values, reverse=True)
    assert sorted(motif.size for motif in everything) == [3] * 12 + [4] * 12 + [5] * 12 + [6] * 12
    assert Catalogue.load(RunFolder.open(tmp_path / "run").catalogue) == found.catalogue
    with pytest.raises(InputError, match="`k` is 6-3; give the smaller number first"):
        flow.mine(graphs, k="6-3")


def test_a_search_that_starts_from_a_pattern_finds_what_contains_it(tmp_path: Path) -> None:
    graphs = load("zoo-mini")
    start = PatternTable.from_keys(
        [read_patterns("Relu -> Conv", *words_of(graphs))[0].pattern.key], *words_of(graphs)
    )
    counted = take_census(graphs, 4)
    inside = contained_in([start[0]], list(counted.patterns))
    expected = {
        pattern.key: int(count)
        for pattern, count, found in zip(counted.patterns, counted.counts, inside, strict=True)
        if found
    }
    plain = {"k": "3-4", "rank_by": "occurrences", "all": True, "top": 10_000, "beam": 10_000, "threads": 2}
    found = flow.mine(graphs, start_from="Relu -> Conv", out=tmp_path / "run", list_size=100_000, **plain)
    assert {motif.key: motif.support.occurrences for motif in found if motif.size == 4} == expected
    assert len(expected) > 20
    again = flow.mine(graphs, start_from="Relu -> Conv", out=tmp_path / "run", list_size=100_000, **plain)
    assert again.catalogue == found.catalogue
    several = flow.mine(graphs, start_from="* -> Conv", **plain)
    assert {motif.key for motif in several} > {motif.key for motif in found}
    for wishes, message in (
        ({"start_from": "Relu -> Konv"}, "no type that matches 'Konv'"),
        ({"start_from": "Conv -> Relu -> Concat", "k": 3}, "has 3 nodes; `k` must be larger"),
        ({"start_from": "Conv -> Split"}, "does not occur in zoo-mini"),
        ({"start_from": "Conv -> Relu", "fusible": True}, "do not go together"),
    ):
        with pytest.raises(InputError, match=message):
            flow.mine(graphs, **{"k": 4, **wishes})


def words_of(graphs: GraphSet) -> tuple[tuple[str, ...], tuple[str, ...]]:
    return graphs.node_vocabulary, graphs.edge_vocabulary
