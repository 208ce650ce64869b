"""The accuracy experiment without running it: its matrix, its schedule, the paper's figures, how cells are scored."""

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grade.errors import InputError
from grade.sampling import sample
from grade.sampling.census import take_census
from tests.graph_sets import chains

SAMPLERS = ("ars", "nrs", "rand-esu", "rand-fase")


def test_the_papers_tables_are_complete(module: Any) -> None:
    summary = module("summary")
    paper = summary.read_paper()
    for name in ("nas-bench-101", "nas-bench-201", "nas-bench-301", "nlp", "younger"):
        for k in (4, 5):
            for estimator in ("frequency", "graphvae", "digress", "defog", "disco"):
                for sampler in SAMPLERS:
                    known = paper.get((name, k, sampler, estimator))
                    if name == "younger" and sampler == "ars":
                        assert known is None, "it timed out"
                        continue
                    assert known is not None, (name, k, sampler, estimator)
                    assert 0 < known["kendall"][0] < known["spearman"][0] < 1
                    in_main_table = name != "nlp" and (sampler == "rand-esu" or estimator == "frequency")
                    assert (known["spearman"][1] is not None) == in_main_table
    assert paper["nas-bench-101", 5, "rand-esu", "disco"]["spearman"] == (0.94, 0.002)
    assert paper["nlp", 5, "rand-fase", "digress"]["kendall"] == (0.397, None)
    best = {
        ("nas-bench-101", 4): (0.88, 0.71),
        ("nas-bench-101", 5): (0.94, 0.81),
        ("nas-bench-201", 4): (0.859, 0.717),
        ("nas-bench-201", 5): (0.884, 0.746),
        ("nas-bench-301", 4): (0.852, 0.664),
        ("nas-bench-301", 5): (0.816, 0.648),
        ("nlp", 4): (0.679, 0.518),
        ("nlp", 5): (0.660, 0.517),
        ("younger", 4): (0.558, 0.404),
        ("younger", 5): (0.56, 0.404),
    }
    for (name, k), values in best.items():
        assert tuple(summary.best_of_paper(name, k).values()) == values


def test_the_full_matrix(module: Any) -> None:
    cells = module("cells")
    settings = cells.read_settings()
    tables = [group["name"] for group in settings["groups"] if not group["ablation"]]
    matrix = cells.matrix(settings, tables)
    four = {"paper", "paper-orbit", "default", "default-no-orbit"}
    for name, k, seed in ((n, k, s) for n in settings["sets"] for k in (4, 5) for s in (0, 1, 2)):
        samplers = ("rand-esu",) if name == "zoo" else SAMPLERS
        for sampler in samplers:
            expected = {("frequency", "default"), ("autoregressive", "default")} | {
                (e, "paper") for e in ("graphvae", "digress", "defog", "disco")
            }
            if sampler == "rand-esu" and name != "zoo":
                expected.add(("autoregressive", "no-interchange"))
            found = {
                (c.estimator, c.variant): set(scorings)
                for c, scorings in matrix.items()
                if (c.set, c.k, c.seed, c.sampler) == (name, k, seed, sampler) and c.estimator != "ceiling"
            }
            assert set(found) == expected, (name, k, seed, sampler)
            assert all(four <= found[kind] for kind in found if kind[1] == "paper")
    assert {cell.sampler for cell in matrix if cell.set == "zoo"} == {"rand-esu"}, "ARS refuses zoo"
    learned = [cell for cell in matrix if cell.estimator not in cells.PLAIN]
    assert {(c.estimator, c.variant, c.sampler) for c in learned[:30]} == {
        ("autoregressive", "default", "rand-esu")
    }


def test_ablations_share_the_trainings_of_the_tables(module: Any) -> None:
    cells = module("cells")
    settings = cells.read_settings()
    cell = cells.Cell("nas-bench-201", 5, "rand-esu", "disco", "paper", 0)
    of_tables, of_ablation = cells.matrix(settings, ["nas-bench-201-5"]), cells.matrix(settings, ["scoring"])
    assert of_tables[cell] == of_ablation[cell]
    assert {"paper", "default", "rounds-paper", "cost-400x1"} <= set(of_tables[cell])
    assert not cells.is_done(["paper", "default"], {"scorings": {"paper-orbit": {"k": 5}, "default": {}}})
    assert cells.is_done(["paper", "default"], {"scorings": {"paper": {"k": 5}, "default-5": {"k": 5}}})
    settings["variants"]["tempered"] = {"base": "default", "masking": 0.5}
    assert cells.changes(settings, "variants", "tempered")["preset"] == "default"
    trained = module("fitting").training_settings(
        cells.Cell("zoo", 4, "rand-esu", "autoregressive", "tempered", 3), settings, 50_000, 4_000, 1
    )
    assert (trained.masking, trained.seed, trained.width) == (0.5, 3, 128), "sized by the types"
    settings["variants"]["tempered"]["colour"] = "red"
    with pytest.raises(InputError, match="variant tempered of the settings changes 'colour'"):
        module("fitting").training_settings(
            cells.Cell("zoo", 4, "rand-esu", "autoregressive", "tempered", 3), settings, 50_000, 4_000, 1
        )
    with pytest.raises(InputError, match="no 'missing' in"):
        cells.changes(settings, "variants", "missing")


def test_long_cells_start_first_and_small_ones_go_to_the_cores(module: Any) -> None:
    cells, cost, run = module("cells"), module("cost"), module("run")
    settings = cells.read_settings()

    def expected(estimator: str, k: int, occurrences: int, scorings: list[str]) -> float:
        variant = "default" if estimator == "autoregressive" else "paper"
        cell = cells.Cell("nlp", k, "rand-esu", estimator, variant, 0)
        seconds: float = cost.expected_seconds(cell, scorings, (occurrences, 200), 30_000, settings)
        return seconds

    long = expected("disco", 5, 30_000, ["paper"])
    assert long == pytest.approx(2 * expected("disco", 5, 15_000, ["paper"]), rel=0.1)
    assert long > expected("disco", 4, 30_000, ["paper"])
    assert expected("disco", 5, 300, ["paper", "paper-orbit"]) == expected("disco", 5, 300, ["paper"])
    assert expected("disco", 5, 300, ["paper", "default"]) > expected("disco", 5, 300, ["paper"])
    small = cells.Cell("nlp", 4, "rand-esu", "autoregressive", "default", 0)
    assert cost.suits_cpu(small, 300, settings)
    assert not cost.suits_cpu(small, 3_000, settings)

    def task(name: str, seconds: float, cpu: bool, seed: int = 0, rank: int = 0) -> Any:
        return run.Task([cells.Cell(name, 4, "nrs", "disco", "paper", seed)], [[]], seconds, cpu, rank)

    tasks = [task("a", 9, False), task("b", 5, True), task("c", 2, False), task("d", 1, True)]
    queue = run.Queue(list(tasks), for_cpu=True)
    assert queue.take(False, 100.0, None, []) == tasks[1]
    assert queue.take(True, 100.0, None, []) == tasks[0]
    plain = cells.Cell("a", 4, "nrs", "frequency", "default", 0)
    queue.note(run.Task([plain], [[]], 0.1, True, 0), True, 100.0, None)
    queue.note(tasks[0], True, 180.0, None)  # the first of a kind is compiled for, and says nothing
    assert queue.estimate(tasks[2], True) == 0
    queue.note(tasks[0], True, 90.0, tasks[0])  # ten times as long as expected
    queue.note(tasks[0], True, 180.0, tasks[0])  # something was compiled there, too
    assert queue.take(True, 15.0, None, []) == tasks[3], (
        "the other takes 20 seconds and would not end in time"
    )
    assert queue.take(True, 25.0, None, []) == tasks[2]
    assert queue.take(False, 100.0, None, []) is None

    again, other, later = task("a", 3, False, 1), task("b", 5, False), task("c", 1, False, rank=1)
    more = task("c", 1, False, 1)
    queue = run.Queue([other, more, again, later], for_cpu=False)
    assert queue.take(True, 100.0, tasks[0], []) == again, "what is compiled for it serves again"
    assert queue.take(True, 100.0, tasks[0], [tasks[1]]) == more, "another process compiles for the first"
    assert queue.take(True, 100.0, tasks[2], [tasks[1]]) == other, (
        "an earlier group goes before the same kind"
    )
    assert queue.take(True, 100.0, None, []) == later


def test_scores_after_some_of_the_rounds(module: Any) -> None:
    """Blocks of rounds are averaged by their numbers, whatever the model."""
    fitting = module("fitting")
    from grade.settings import EstimatorSettings

    class Model:
        settings = EstimatorSettings()
        evaluations = 0

        def log_probability(self, patterns: list[int]) -> np.ndarray:
            self.evaluations = len(patterns) * self.settings.rounds
            return np.full(len(patterns), float(self.settings.rounds))

    scores, evaluations = fitting.scores_by_rounds(Model(), EstimatorSettings(), [0, 1], [1, 3, 10])
    assert [scores[number][0] for number in (1, 3, 10)] == [1, (1 + 2 * 2) / 3, (1 + 2 * 2 + 7 * 7) / 10]
    assert evaluations == 2 * 10


def test_probabilities_are_averaged_round_by_round(module: Any) -> None:
    """As the logarithm of their mean, with noise of its own in each round."""
    fitting = module("fitting")
    from grade.settings import EstimatorSettings

    class Model:
        settings = EstimatorSettings()
        evaluations = 0

        def log_probability(self, patterns: list[int]) -> np.ndarray:
            assert self.settings.rounds == 1
            self.evaluations = len(patterns)
            return np.log([0.1 + self.settings.seed / 10_000] * len(patterns))

    scores, evaluations = fitting.mean_probabilities(Model(), EstimatorSettings(rounds=3, seed=0), [0, 1])
    assert np.allclose(np.exp(scores), (0.1 + 0.2 + 0.3) / 3)
    assert evaluations == 2 * 3


def test_ceilings(module: Any) -> None:
    ceiling = module("fitting").ceiling
    distinct = ceiling(np.array([1, 100, 10_000, 1_000_000], np.uint64), 1_000, 0)
    assert (distinct["ties_spearman"], distinct["ties_kendall"]) == (1, 1)
    assert distinct["spearman"] > 0.9
    tied = ceiling(np.repeat(np.array([10, 1000], np.uint64), 500), 100, 0)
    # Two groups of equal size in perfect order: rho is sqrt(3) / 2, tau-b the root of a half.
    assert tied["ties_spearman"] == pytest.approx(np.sqrt(0.75), abs=1e-3)
    assert tied["ties_kendall"] == pytest.approx(np.sqrt(0.5), abs=1e-3)
    assert tied["sample_spearman"] < tied["spearman"] < tied["ties_spearman"] + 0.02


def test_the_ceiling_of_merged_types(module: Any) -> None:
    """In an enumerated space, patterns that merge occur equally often; types that were drawn differ by chance."""
    ceiling = module("fitting").merged_ceiling
    every = list(product([0], *[(1, 2, 3)] * 4, [7]))
    some = [every[i] for i in np.random.default_rng(0).choice(len(every), 400)]
    found = {}
    for name, rows in (("enumerated", every * 4), ("drawn", some), ("different", [(0, 1, 2, 3, 4, 7)] * 40)):
        graphs = chains(rows)
        found[name] = ceiling(sample(graphs, 4, "rand-esu", count=100, seed=0), take_census(graphs, 4))
    assert found["enumerated"] == pytest.approx({"merged_spearman": 1, "merged_kendall": 1})
    assert 0.7 < found["drawn"]["merged_spearman"] < 0.99
    assert found["different"] == {}


def test_a_result_of_a_later_place_counts(module: Any, tmp_path: Path) -> None:
    cells = module("cells")
    facts = {"set": "zoo", "k": 4, "sampler": "nrs", "estimator": "disco", "variant": "paper", "seed": 1}
    facts["density"] = 0.1
    cells.write_result({**facts, "scorings": {"paper": {"spearman": 0.1}}}, tmp_path)
    cells.write_lines([{**facts, "scorings": {"paper": {"spearman": 0.2}}}], tmp_path / "more.jsonl")
    (result,) = cells.read_results(tmp_path, tmp_path / "more.jsonl").values()
    assert result["scorings"]["paper"]["spearman"] == 0.2
    (tmp_path / "more.jsonl").write_text('{"set": "zoo"')
    with pytest.raises(InputError, match=r"more\.jsonl is damaged"):
        cells.read_results(tmp_path / "more.jsonl")
    with pytest.raises(InputError, match="colour"):
        cells.select({}, ["colour=red"])


def test_a_variant_can_differ_on_one_set_and_size(module: Any) -> None:
    cells, fitting = module("cells"), module("fitting")
    settings = cells.read_settings()
    settings["variants"]["paper"]["at"] = {"zoo-5": {"epochs": 3.0, "disco": {"layers": 1}}}
    for k, estimator, expected in ((5, "disco", (3, 1)), (5, "digress", (3, 5)), (4, "disco", (200, 5))):
        cell = cells.Cell("zoo", k, "rand-esu", estimator, "paper", 0)
        chosen = fitting.training_settings(cell, settings, 1000, 100, 1)
        assert (chosen.epochs, chosen.layers) == expected
    settings["variants"]["paper"]["at"] = {"zoo-5": {"hours": 2}}
    with pytest.raises(InputError, match="variant paper of the settings changes 'hours'"):
        fitting.training_settings(cells.Cell("zoo", 5, "rand-esu", "disco", "paper", 0), settings, 9, 9, 1)
