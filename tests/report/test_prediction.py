"""Predicted against verified counts."""

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

import grade
from grade.estimators import load_estimator
from grade.graphs import PatternTable
from grade.report.prediction import prediction
from grade.runs import Catalogue
from grade.support import LOWER_BOUND


@pytest.fixture(scope="module")
def guided(tmp_path_factory: pytest.TempPathFactory) -> Path:
    out = tmp_path_factory.mktemp("guided") / "run"
    grade.mine(
        "zoo-mini", "3-5", out=out, rank_by="estimator", estimator="parts", samples=500, top=8, all=True
    )
    return out


def test_a_guided_run_keeps_what_its_estimator_predicted(guided: Path) -> None:
    found = Catalogue.load(guided / "catalogue.sqlite")
    predicted = found.run["predicted"]
    for motif, share in zip(found.motifs, predicted, strict=True):
        if motif.size == 3:
            assert share is None, "patterns of 3 nodes are counted, not predicted"
            continue
        table = PatternTable.from_keys([motif.key], found.node_vocabulary, found.edge_vocabulary)
        model = load_estimator(guided / "models" / f"k-0{motif.size}")
        assert share == pytest.approx(float(model.log_probability(table)[0]), abs=1e-6)


def test_rho_is_that_of_the_ranks_and_counts_keep_their_sum(guided: Path) -> None:
    found = Catalogue.load(guided / "catalogue.sqlite")
    told = prediction(found)
    assert told is not None
    assert [(size, number) for size, number, _ in told.rho] == [(4, 8), (5, 8)]
    for size, _, rho in told.rho:
        rows = [i for i, motif in enumerate(found.motifs) if motif.size == size]
        counts = [found.motifs[i].support.occurrences for i in rows]
        shares = [found.run["predicted"][i] for i in rows]
        ranks = [
            [sum(v < x for v in own) + sum(v == x for v in own) / 2 for x in own] for own in (counts, shares)
        ]
        assert rho == pytest.approx(float(np.corrcoef(ranks)[0, 1]))
    assert told.plot.count("<circle") == 16


def test_lower_bounds_and_runs_without_an_estimator_have_no_prediction(guided: Path) -> None:
    found = Catalogue.load(guided / "catalogue.sqlite")
    bounds = [
        replace(motif, support=replace(motif.support, occurrences_quality=LOWER_BOUND))
        for motif in found.motifs
    ]
    assert prediction(replace(found, motifs=bounds)) is None
    assert prediction(replace(found, run={**found.run, "predicted": [None] * len(bounds)})) is None
    assert "Predicted against verified" not in page_of(guided.parent / "plain")


def page_of(out: Path) -> str:
    run = grade.mine("zoo-mini", "4", out=out, top=3, all=True)
    return run.report(out.with_suffix(".html")).read_text()
