"""The accuracy experiment: its matrix, its reduced run end to end, the paper's figures, and the tables made of both."""

import csv
import dataclasses
import json
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grade.errors import InputError

FOLDER = Path(__file__).parents[2] / "experiments" / "accuracy"
SAMPLERS = ("ars", "nrs", "rand-esu", "rand-fase")
ABLATIONS = (
    "parts",
    "interchange",
    "counts",
    "agreement",
    "rounds",
    "cost",
    "open",
    "kernel",
    "noise",
    "orders",
    "density",
    "together",
    "samplers",
)  # in the reduced matrix


def start(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(FOLDER / script), *map(str, arguments)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


@pytest.fixture(scope="module")
def quick(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Results of the reduced matrix."""
    folder = tmp_path_factory.mktemp("accuracy")
    done = start("run.py", "--quick", "--out", folder, "--lines", folder / "copy" / "all.jsonl")
    assert done.returncode == 0, done.stderr
    return folder


def test_the_reduced_matrix_has_every_kind_of_cell(quick: Path) -> None:
    results = read_lines(quick / "cells.jsonl")
    kinds = {(r["estimator"], r["variant"]) for r in results if r["sampler"] == "rand-esu"}
    trained = {(e, "paper") for e in ("disco", "defog", "digress", "graphvae")}
    plain = {(e, "default") for e in ("ceiling", "frequency", "joined", "rarest", "autoregressive")}
    orders = {("autoregressive", f"orders-{family}") for family in ("linear", "level", "canonical")}
    others = {("autoregressive", "no-interchange"), ("autoregressive", "one-network")}
    disco = {("disco", "paper-canonical"), ("disco", "paper-last")}
    assert kinds == trained | plain | orders | others | disco
    frequency = [r for r in results if r["estimator"] == "frequency"]
    assert {r["sampler"] for r in frequency} == {"rand-esu", "nrs", "rand-fase"}
    assert {r["density"] for r in frequency} == {0.1, 0.3}
    for result in results:
        assert result["types"] == 2295
        assert result["quick"]
        assert {"commit", "device", "date", "seconds"} <= set(result)
        for entry in result["scorings"].values():
            assert -1 <= entry["kendall"] <= 1
            assert -1 <= entry["spearman"] <= 1


def scorings(folder: Path, estimator: str, variant: str) -> dict[str, dict[str, Any]]:
    """Those of the one training with seed 0 on the Rand-ESU sample of the tables."""
    wanted = (estimator, variant, "rand-esu", 0, 0.1)
    names = ("estimator", "variant", "sampler", "seed", "density")
    (result,) = [r for r in read_lines(folder / "cells.jsonl") if tuple(r[name] for name in names) == wanted]
    found: dict[str, dict[str, Any]] = result["scorings"]
    return found


def test_one_training_is_scored_in_several_ways(quick: Path) -> None:
    ways = scorings(quick, "disco", "paper")
    assert {"paper", "paper-orbit", "default", "default-no-orbit"} < set(ways)
    assert ways["paper"]["evaluations_per_pattern"] == 8 * 2
    assert ways["paper"]["changed"] == {}
    assert ways["default"]["evaluations_per_pattern"] == 4 * 2
    assert ways["default"]["changed"] == {
        "kernel": "bridge",
        "shared_noise": True,
        "stratified": True,
        "orbit": True,
        "path_steps": 4,
    }
    assert ways["paper"]["spearman"] != ways["paper-orbit"]["spearman"]
    assert ways["paper"]["scored"] == 20_000 // 16, "a long path is scored on a part of the types"
    assert ways["default"]["scored"] == 2295
    assert ways["kernel-bridge-16"]["scored"] == 300
    assert ways["kernel-paper-16"]["spearman"] != ways["kernel-bridge-16"]["spearman"]
    assert ways["noise-shared"]["spearman"] != ways["noise-own"]["spearman"]
    rounds = ways["rounds-paper"]["by_rounds"]
    assert list(rounds) == ["1", "2", "4"]
    assert ways["rounds-paper"]["evaluations_per_pattern"] == 8 * 4, "all of them at the cost of the most"
    assert rounds["4"]["spearman"] == ways["rounds-paper"]["spearman"] != rounds["1"]["spearman"]
    together = scorings(quick, "autoregressive", "one-network")
    assert {(name, entry["k"]) for name, entry in together.items()} == {
        (f"{name}-{k}", k)
        for name in (
            "default",
            "sample-only",
            "default-no-orbit",
            "default-no-counts",
            "default-no-agreement",
        )
        for k in (3, 4)
    }
    learned, counted = (
        scorings(quick, e, "default")["default"]["spearman"] for e in ("autoregressive", "frequency")
    )
    assert learned > counted + 0.2


def test_counts_of_parts_are_told_apart_from_the_sample_alone(quick: Path, module: Any) -> None:
    ways = scorings(quick, "autoregressive", "no-interchange")
    assert set(ways) == {
        "default",
        "sample-only",
        "default-no-orbit",
        "default-no-counts",
        "default-no-agreement",
    }
    changed = ways["default"]["changed"]
    assert not {"parts", "orbit"} & set(changed)
    assert ways["sample-only"]["changed"] == changed | {"parts": False}
    assert ways["default-no-orbit"]["changed"] == changed | {"parts": False, "orbit": False}
    assert ways["default-no-counts"]["changed"] == changed | {"shrink": False}
    assert ways["default-no-agreement"]["changed"] == changed | {"agree": False}
    assert len({entry["spearman"] for entry in ways.values()}) == 5
    results = read_lines(quick / "cells.jsonl")
    for result in results:
        fitted = result.get("calibration")
        if result["estimator"] == "autoregressive":
            # Order families are compared by the model alone.
            sizes = {"one-network": {"3", "4"}}.get(result["variant"], {"4"})
            assert set(fitted) == (set() if result["variant"].startswith("orders-") else sizes)
            assert result["settings"]["interchange"] == (result["variant"] in ("default", "one-network"))
        else:
            assert not fitted
    # The counts of parts that come with any sample are those of the set.
    fitting, cells = module("fitting"), module("cells")
    census = fitting.read_census(quick / "inputs" / "nas-bench-201-4.npz")
    sample = fitting.load_sample(quick / "inputs" / "nas-bench-201-4-s1")
    for name in cells.PARTS:
        other = fitting.parts_alone(sample, census, name)["spearman"]
        assert other == scorings(quick, name, "default")["default"]["spearman"]
    assert fitting.parts_alone(sample, census, "joined")["spearman"] == pytest.approx(0.992, abs=1e-3)
    bare = dataclasses.replace(sample, parts=None)
    with pytest.raises(InputError, match="no counts of parts"):
        fitting.require_parts([sample, bare], quick)


def test_level_orders_share_a_scoring_only_without_counts_of_parts(quick: Path, module: Any) -> None:
    """What follows from a known number is not computed, and what is weighed with other counts does not follow."""
    fitting = module("fitting")
    from grade.settings import EstimatorSettings

    patterns = fitting.read_census(quick / "inputs" / "nas-bench-201-4.npz").patterns

    class Model:
        settings = EstimatorSettings()
        evaluations = calls = 0

        def log_probability(self, patterns: Any) -> np.ndarray:
            self.calls += 1
            return np.zeros(len(patterns))

    for parts, calls in ((False, 1), (True, 2)):
        model, known = Model(), {}
        chosen = EstimatorSettings(orders="level", parts=parts)
        with_orbit, _ = fitting.class_scores(model, chosen, patterns, known)
        without, _ = fitting.class_scores(model, dataclasses.replace(chosen, orbit=False), patterns, known)
        assert model.calls == calls
        corrections = np.log(patterns.level_orders / patterns.automorphisms)
        assert with_orbit - without == pytest.approx(corrections * (not parts))
    assert corrections.any()


def test_results_are_kept_cell_by_cell_and_not_made_twice(quick: Path) -> None:
    lines = read_lines(quick / "cells.jsonl")
    assert read_lines(quick / "copy" / "all.jsonl") == lines
    assert sorted(lines, key=str) == sorted(
        (json.loads(path.read_text()) for path in (quick / "cells").iterdir()), key=str
    )
    again = start("run.py", "--quick", "--out", quick)
    assert again.returncode == 0
    assert again.stderr.startswith(f"0 cells to run, 0 s of one job expected; {len(lines)} have results")
    listed = start("run.py", "--quick", "--out", quick, "--again", "--list", "--only", "estimator=ceiling")
    names = [line.split()[0] for line in listed.stdout.splitlines()]
    assert names == [f"nas-bench-201-4-rand-esu-ceiling-default-s{seed}" for seed in (0, 1)]
    groups = start("run.py", "--quick", "--out", quick, "--again", "--list", "--group", "orders,one-network")
    variants = [
        line.split()[0].removeprefix("nas-bench-201-4-rand-esu-autoregressive-")
        for line in groups.stdout.splitlines()
    ]
    assert sorted(variants) == [
        "one-network-s0",
        "orders-canonical-s0",
        "orders-level-s0",
        "orders-linear-s0",
    ]
    unknown = start("run.py", "--quick", "--out", quick, "--group", "colours")
    assert unknown.returncode == 2
    assert "no group 'colours'" in unknown.stderr


def test_a_cell_that_fails_takes_no_other_with_it(quick: Path, tmp_path: Path) -> None:
    inputs = tmp_path / "inputs"
    shutil.copytree(quick / "inputs", inputs)
    (inputs / "nas-bench-201-4-s0" / "weights.npy").write_bytes(b"")
    command = (
        "run.py",
        "--quick",
        "--inputs",
        inputs,
        "--only",
        "estimator=frequency",
        "--out",
        tmp_path / "out",
    )
    late = start(*command, "--seconds", 0)
    assert late.returncode == 0
    assert not (tmp_path / "out").exists(), "no cell is started when the time is over"
    done = start(*command)
    assert done.returncode == 1
    assert "1 cells failed: nas-bench-201-4-rand-esu-frequency-default-s0" in done.stderr
    assert "weights.npy" in done.stderr
    others = {(r["sampler"], r["seed"], r["density"]) for r in read_lines(tmp_path / "out" / "cells.jsonl")}
    densest = {("rand-esu", seed, 0.3) for seed in (0, 1)}
    assert others == {("rand-esu", 1, 0.1), ("nrs", 0, 0.1), ("rand-fase", 0, 0.1)} | densest


def test_cells_that_differ_in_their_samples_are_fitted_in_one_task(quick: Path, module: Any) -> None:
    cells, run, fitting = module("cells"), module("run"), module("fitting")
    settings = cells.read_settings(quick=True)
    plan = {
        cells.Cell("nas-bench-201", 4, "rand-esu", estimator, variant, seed): ["paper"]
        for estimator, variant in (("graphvae", "paper"), ("autoregressive", "default"))
        for seed in (0, 1)
    }
    settings["groups"] = [
        {
            "name": "all",
            "ablation": False,
            "estimators": ["graphvae", "autoregressive"],
            "variants": ["paper", "default"],
            "samplers": ["rand-esu"],
            "sets": ["nas-bench-201"],
        }
    ]
    tasks = run.tasks_of(plan, quick / "inputs", settings, ["all"], 2)
    bundles = sorted([(c.estimator, c.seed) for c in task.cells] for task in tasks)
    # What is held out decides how long the autoregressive ones are trained, each by itself.
    alone = [[("autoregressive", 0)], [("autoregressive", 1)]]
    assert bundles == [*alone, [("graphvae", 0), ("graphvae", 1)]]
    assert len(run.tasks_of(plan, quick / "inputs", settings, ["all"], 1)) == 4
    (bundle,) = [task for task in tasks if len(task.cells) == 2]
    results = list(fitting.run_cells(bundle.cells, bundle.scorings, quick / "inputs", settings, 1))
    for cell, result in zip(bundle.cells, results, strict=True):
        single = fitting.run_cell(cell, ["paper"], quick / "inputs", settings, 1)
        assert result["seed"] == cell.seed
        assert result["scorings"]["paper"]["spearman"] == single["scorings"]["paper"]["spearman"]
    assert results[0]["scorings"] != results[1]["scorings"]


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


def test_tables_and_figures(quick: Path, tmp_path: Path) -> None:
    marks = "before\n<!-- accuracy:begin -->\nold\n<!-- accuracy:end -->\nafter\n"
    readme, experiments = tmp_path / "README.md", tmp_path / "experiments.md"
    for page in (readme, experiments):
        page.write_text(marks)
    done = start("tables.py", "--out", quick, "--readme", readme, "--experiments", experiments)
    assert done.returncode == 0, done.stderr
    results = read_lines(quick / "cells.jsonl")

    def of(estimator: str, measure: str, variant: str = "default", scoring: str = "default") -> list[float]:
        chosen = (estimator, variant, "rand-esu", 0.1)
        names = ("estimator", "variant", "sampler", "density")
        return [
            r["scorings"][scoring][measure] for r in results if tuple(r[name] for name in names) == chosen
        ]

    with (quick / "results.csv").open(newline="") as file:
        names = ("estimator", "variant", "scoring", "sampler", "density")
        rows = {tuple(r[name] for name in names): r for r in csv.DictReader(file)}
    row = rows["autoregressive", "default", "default", "rand-esu", "0.1"]
    values = of("autoregressive", "spearman")
    assert row["seeds"] == "2"
    assert float(row["spearman"]) == pytest.approx(np.mean(values), abs=1e-4)
    assert float(row["spearman_deviation"]) == pytest.approx(np.std(values, ddof=1), abs=1e-4)
    assert (row["spearman_goal"], row["kendall_goal"], row["spearman_paper"]) == ("0.92", "0.8", "")
    assert rows["disco", "paper", "paper", "rand-esu", "0.1"]["spearman_paper"] == "0.79"

    page = (quick / "results.md").read_text()
    assert "reduced matrix" in page
    for way in ("paper", "default"):
        figure = scorings(quick, "disco", "paper")[way]["spearman"]
        words = {"paper": "as in the paper", "default": "as we recommend"}[way]
        assert f"| DisCo-E, {words} | Rand-ESU | {figure:.3f} (0.790 ± 0.030) |" in page
    text = readme.read_text()
    assert text.startswith("before\n<!-- accuracy:begin -->\n| set | k |")
    assert text.endswith("|\n<!-- accuracy:end -->\nafter\n")
    ours = [
        " / ".join(
            f"{np.mean(of('autoregressive', measure, *way)):.3f}" for measure in ("spearman", "kendall")
        )
        for way in (("no-interchange", "sample-only"), ("default", "default"))
    ]
    assert "| NAS-Bench-201 | 4 | 0.859 / 0.717 |" in text
    assert f"| {ours[0]} | {ours[1]} |" in text
    assert "| autoregressive, sample alone | autoregressive + counts of parts (default) |" in text
    verdicts = next(line.split(" | ") for line in page.splitlines() if line.startswith("| NAS-Bench-201 | 4"))
    assert (verdicts[5], verdicts[7]) == tuple(ours)
    assert "exact counts of all connected subgraphs of at most 3 nodes" in page
    for name in ("accuracy", *ABLATIONS):
        assert (quick / f"{name}.png").read_bytes().startswith(b"\x89PNG")
        assert "<svg" in (quick / f"{name}.svg").read_text()

    before = {path: path.read_bytes() for path in (*quick.glob("*.md"), *quick.glob("*.svg"), experiments)}
    again = start("tables.py", "--out", quick, "--experiments", experiments)
    assert again.returncode == 0
    assert before == {path: path.read_bytes() for path in before}
    readme.write_text("no marks")
    refused = start("tables.py", "--out", quick, "--readme", readme)
    assert refused.returncode == 2
    assert "accuracy:begin" in refused.stderr


def test_results_that_are_taken_in_stay(quick: Path, tmp_path: Path) -> None:
    """Those of another machine replace older ones for good, also where these have files of their own."""
    out, more = tmp_path / "out", tmp_path / "more.jsonl"
    shutil.copytree(quick / "cells", out / "cells")
    result = read_lines(quick / "cells.jsonl")[0]
    more.write_text(json.dumps({**result, "commit": "newer"}) + "\n")
    for arguments in ((more,), ()):
        assert start("tables.py", *arguments, "--out", out).returncode == 0
        commits = [r["commit"] for r in read_lines(out / "cells.jsonl")]
        assert commits.count("newer") == 1


def test_a_variant_of_ones_own_has_a_table(quick: Path, tmp_path: Path) -> None:
    """Beside what it changes, and without columns of other estimators."""
    lines = read_lines(quick / "cells.jsonl")
    kinds = [(r["estimator"], r["variant"], r["sampler"], r["k"], r["seed"]) for r in lines]
    known = lines[kinds.index(("autoregressive", "default", "rand-esu", 4, 0))]
    results = [*lines, {**known, "variant": "narrow"}]
    (tmp_path / "cells.jsonl").write_text("".join(json.dumps(result) + "\n" for result in results))
    done = start("tables.py", "--out", tmp_path)
    assert done.returncode == 0, done.stderr
    table = (tmp_path / "ablations.md").read_text().partition("# Other variants")[2]
    assert "| set | k | method | default | narrow | seeds |" in table
    rho = f"{known['scorings']['default']['spearman']:.3f}"
    assert f"| NAS-Bench-201 | 4 | autoregressive | {rho} | {rho} | 1 |" in table


def test_tables_of_the_ablations(quick: Path, tmp_path: Path) -> None:
    experiments = tmp_path / "README.md"
    experiments.write_text("<!-- accuracy:begin -->\n<!-- accuracy:end -->\n")
    done = start("tables.py", "--out", quick, "--experiments", experiments)
    assert done.returncode == 0, done.stderr
    ways, page = scorings(quick, "disco", "paper"), (quick / "ablations.md").read_text()

    def row(method: str, *values: float) -> str:
        return f"| NAS-Bench-201 | 4 | {method} | " + " | ".join(f"{v:.3f}" for v in values) + " | 1 |"

    rounds = [ways["rounds-paper"]["by_rounds"][number]["spearman"] for number in ("1", "2", "4")]
    assert row("DisCo-E, the paper's kernel, 100 steps", *rounds) in page
    kernels = [ways[f"kernel-{name}-16"]["spearman"] for name in ("paper", "bridge")]
    assert row("DisCo-E, 16 evaluations", *kernels) in page
    left_open = [
        ways["paper"]["spearman"],
        scorings(quick, "disco", "paper-last")["paper"]["spearman"],
        ways["paper-probabilities"]["spearman"],
    ]
    # The paper's own figure is the last column.
    assert row("DisCo-E, as in the paper", *left_open) + " 0.790 |" in page
    families = [
        scorings(quick, "autoregressive", f"orders-{family}")["default-no-orbit"]["spearman"]
        for family in ("linear", "level", "canonical")
    ]
    assert row("autoregressive, not corrected", *families) in page
    # One of the two has a second seed, which is left out: choices are compared on the same seeds.
    networks = [
        scorings(quick, "autoregressive", "default")["default"]["spearman"],
        scorings(quick, "autoregressive", "one-network")["default-4"]["spearman"],
    ]
    assert row("autoregressive + counts of parts (default)", *networks) in page
    # Counts of parts have one seed, which stands for all: the other columns are means of both.
    alone = [scorings(quick, name, "default")["default"]["spearman"] for name in ("joined", "rarest")]
    fits, apart = (
        [
            r
            for r in read_lines(quick / "cells.jsonl")
            if (r["estimator"], r["variant"]) == ("autoregressive", variant)
        ]
        for variant in ("default", "no-interchange")
    )
    assert len(fits) == len(apart) == 2
    learned = [
        [r["scorings"][name]["spearman"] for r in trained]
        for name, trained in (("sample-only", apart), ("default", fits))
    ]
    exchanged = [
        np.mean([r["scorings"]["default"]["spearman"] for r in trained]) for trained in (apart, fits)
    ]
    assert exchanged[1] > exchanged[0], "on NAS-Bench-201 all operations are interchangeable"
    words = [f"{v:.3f}" for v in alone] + [f"{np.mean(v):.3f} ± {np.std(v, ddof=1):.3f}" for v in learned]
    weights = np.mean([r["calibration"]["4"]["weights"] for r in fits], axis=0)
    words += ["2", ", ".join(f"{weight:.2f}" for weight in weights)]
    assert f"| NAS-Bench-201 | 4 | parts and autoregressive | {' | '.join(words)} |" in page
    text = experiments.read_text()
    for name in ABLATIONS:
        assert f"]({name}.png)" in page
        assert f"](accuracy/results/{name}.png)" in text
    assert row("DisCo-E, 16 evaluations", *kernels) in text


def test_the_pages_show_the_committed_results(tmp_path: Path) -> None:
    pages = {"--readme": FOLDER.parents[1] / "README.md", "--experiments": FOLDER.parent / "README.md"}
    copies = {option: tmp_path / f"copy{option}.md" for option in pages}
    for option, page in pages.items():
        copies[option].write_text(page.read_text())
    (tmp_path / "cells.jsonl").write_text((FOLDER / "results" / "cells.jsonl").read_text())
    done = start("tables.py", "--out", tmp_path, *(word for pair in copies.items() for word in pair))
    assert done.returncode == 0, done.stderr
    for option, page in pages.items():
        assert copies[option].read_text() == page.read_text()
    for name in ("results.md", "ablations.md", "results.csv"):
        assert (tmp_path / name).read_text() == (FOLDER / "results" / name).read_text()
