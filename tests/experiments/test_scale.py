"""Generated sets: the same for the same seed, of the size that is asked for, and with the statistics of zoo."""

import runpy
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grade import GraphSet
from grade.errors import InputError
from grade.graphs.storage import load_graph_set
from grade.graphs.summary import summarize
from grade.sources import load

SCRIPT = Path(__file__).parents[2] / "experiments" / "scale" / "generate.py"


@pytest.fixture(scope="module")
def generated() -> Any:
    return runpy.run_path(str(SCRIPT))


@pytest.fixture(scope="module")
def made(generated: Any, tmp_path_factory: pytest.TempPathFactory) -> GraphSet:
    folder = tmp_path_factory.mktemp("scale") / "set"
    assert generated["generate"](folder, 300_000, 314)[1] <= 300_000
    return load_graph_set(folder)


def pairs(graphs: GraphSet) -> dict[tuple[str, str], float]:
    """Share of the edges by the types of their ends, variants aside."""
    base = np.array([word.split(".")[0] for word in graphs.node_vocabulary])
    words, types = np.unique(base, return_inverse=True)
    ends = (
        np.repeat(types[graphs.node_types], np.diff(graphs.out_offsets)),
        types[graphs.node_types][graphs.out_targets],
    )
    found, counts = np.unique(np.stack(ends), axis=1, return_counts=True)
    names = [(str(words[a]), str(words[b])) for a, b in found.T.tolist()]
    return dict(zip(names, (counts / graphs.edges).tolist(), strict=True))


def test_statistics_are_those_of_zoo(made: GraphSet) -> None:
    real = load("zoo")
    one, other = pairs(real), pairs(made)
    distance = sum(abs(one.get(key, 0) - other.get(key, 0)) for key in one | other) / 2
    assert distance < 0.15  # of 74 ** 2 pairs; with the types of the ends drawn apart it is 0.65
    assert made.edges / made.nodes == pytest.approx(real.edges / real.nodes, rel=0.03)
    for degrees in (lambda g: np.diff(g.in_offsets), lambda g: np.diff(g.out_offsets)):
        for least in (2, 4, 16):
            share = (degrees(made) >= least).mean() / (degrees(real) >= least).mean()
            assert 0.5 < share < 2
    assert 0.3 < made.nodes / len(made) / (real.nodes / len(real)) < 3
    facts = summarize(made)
    assert facts.cyclic_graphs == facts.self_loops == 0
    assert len(facts.node_types) > 300
    assert made.largest <= generated_limit(SCRIPT)


def generated_limit(script: Path) -> int:
    return int(runpy.run_path(str(script))["LARGEST"])


def test_sets_follow_from_the_seed(generated: Any, tmp_path: Path) -> None:
    digests = []
    for name, nodes, seed in (("a", 20_000, 1), ("b", 20_000, 1), ("c", 20_000, 2), ("d", 40_000, 1)):
        generated["generate"](tmp_path / name, nodes, 100, seed=seed)
        digests.append(load_graph_set(tmp_path / name))
    assert digests[0].digest == digests[1].digest != digests[2].digest
    shorter, longer = digests[0], digests[3]
    assert longer.subset(range(len(shorter))).digest == shorter.digest  # type: ignore[arg-type]  # a range of rows


def test_memory_is_bounded_by_a_piece(
    generated: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A set is the same as its pieces, one after the other; larger sets have larger hubs."""
    monkeypatch.setitem(generated["piece"].__globals__, "PIECE", 20_000)
    seen: list[int] = []
    one = generated["piece"]
    made = lambda *a: seen.append((s := one(*a)).nodes) or s  # noqa: E731 (a function of one line)
    monkeypatch.setitem(generated["generate"].__globals__, "piece", made)
    generated["generate"](tmp_path / "set", 100_000, 100, mean=400)
    assert len(seen) >= 5
    assert max(seen) < 20_000 + generated["LARGEST"]
    assert load_graph_set(tmp_path / "set").nodes > 99_000


def test_numbers_out_of_range_are_refused(generated: Any, tmp_path: Path) -> None:
    for nodes, types, mean, what in (
        (5, 100, None, "nodes"),
        (100, 10, None, "types"),
        (100, 100, 1.0, "mean size"),
    ):
        with pytest.raises(InputError, match=what):
            generated["generate"](tmp_path / "set", nodes, types, mean)
    assert not (tmp_path / "set").exists()
