"""What 0.1 stored: sets, samples and censuses are read; models and runs are refused with the way to make them again.

``made-by-0.1.tar.xz`` was written by that version: graphs.jsonl, what its commands made of it, and the answers
(``--json``, scores) that it gave then.
"""

import csv
import json
import tarfile
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from grade.errors import InputError
from grade.estimators import load_estimator
from grade.graphs import PatternTable
from grade.graphs.sample import load_sample
from grade.runs import RunFolder
from grade.sampling.census import Census, take_census
from grade.sources import load

ARCHIVE = Path(__file__).with_name("made-by-0.1.tar.xz")
MODELS = ("model-autoregressive", "model-disco", "model-graphvae", "model-frequency")


@pytest.fixture(scope="module")
def old(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("upgrade")
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(folder, filter="data")
    return folder / "0.1"


def answer(old: Path, name: str) -> Any:
    return json.loads((old / "answers" / f"{name}.json").read_text())


def test_a_set_is_read_as_its_source_is(old: Path) -> None:
    stored, source = load(old / "set"), load(old / "graphs.jsonl")
    assert answer(old, "set")["nodes"] == stored.nodes == source.nodes
    assert list(stored.graph_names) == list(source.graph_names)
    assert stored.node_names is not None
    assert list(stored.node_names) == [f"layer{i % 14}" for i in range(stored.nodes)]
    for g in range(len(source)):
        assert np.array_equal(stored.edge_list(g), source.edge_list(g))


@pytest.mark.parametrize("file", ["census.npz", "census.parquet"])
def test_a_census_is_read_and_still_right(old: Path, file: str) -> None:
    stored, now = Census.load(old / file), take_census(load(old / "set"), 4)
    assert np.array_equal(stored.patterns.keys, now.patterns.keys)
    assert np.array_equal(stored.counts, now.counts)
    patterns = answer(old, "census")["top"]
    assert {p["key"]: p["count"] for p in patterns} == {p.code: n for p, n in now.top(10**6)}


def test_a_sample_is_read_and_can_be_fitted(old: Path, run: Any) -> None:
    sample = load_sample(old / "sample")
    assert (len(sample), sample.size, len(sample.patterns)) == (60, 4, 57)
    assert sample.parts is not None
    model = old / "fitted"
    assert run("fit", str(old / "sample"), "--estimator", "frequency", "--out", str(model)).code == 0
    assert run("score", str(model), str(old / "census.npz"), "--out", str(old / "scores.csv")).code == 0
    with (old / "scores.csv").open() as now, (old / "answers" / "scores-frequency.csv").open() as then:
        found = [(row["key"], float(row["log_probability"])) for row in csv.DictReader(now)]
        expected = [(row["key"], float(row["log_probability"])) for row in csv.DictReader(then)]
    vocabularies = sample.patterns.node_vocabulary, sample.patterns.edge_vocabulary
    codes = PatternTable.from_keys([key for key, _ in expected], *vocabularies)  # keys were codes then
    assert [key for key, _ in found] == [pattern.key for pattern in codes]
    assert [value for _, value in found] == pytest.approx([value for _, value in expected])


@pytest.mark.parametrize("name", MODELS)
def test_a_model_is_refused_with_the_way_to_make_it_again(old: Path, name: str) -> None:
    with pytest.raises(InputError, match=r"has format 5, .*; fit it again with 'grade fit'\.$"):
        load_estimator(old / name)


@pytest.mark.parametrize("name", ["run", "run-estimator", "run-stopped"])
def test_a_run_is_refused_with_the_way_to_make_it_again(old: Path, name: str, run: Any) -> None:
    sentence = "made by an earlier version of GraDE"
    with pytest.raises(InputError, match=sentence):
        RunFolder.open(old / name)
    before = sorted(old.joinpath(name).rglob("*"))
    result = run("mine", str(old / "set"), "-k", "5", "--out", str(old / name))
    assert (result.code, result.out) == (2, "")
    assert sentence in result.err
    assert "'grade mine'" in result.err
    assert sorted(old.joinpath(name).rglob("*")) == before
