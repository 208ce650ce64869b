"""A search, its selection and its verification in blocks end with the catalogue of the whole set, byte for byte."""

from pathlib import Path
from typing import Any

import pytest

from grade.engine import LOCAL, Engine
from grade.graphs import GraphSet
from grade.job import Job
from grade.mine import run
from grade.search import Constraints
from grade.settings import MineSettings
from grade.sources import load
from grade.verify import distinct
from tests.engine.in_blocks import Blocks


@pytest.fixture(scope="module")
def zoo() -> GraphSet:
    return load("zoo-mini")


def catalogue(graphs: GraphSet, folder: Path, engine: Engine, asked: dict[str, Any], **wishes: Any) -> bytes:
    settings = MineSettings(graphs="zoo-mini", out=folder, threads=1, **asked)
    job = Job.begin(settings, Constraints(**wishes), graphs, engine=engine)
    run(job)
    return job.run.catalogue.read_bytes()


@pytest.mark.parametrize(
    ("asked", "wishes"),
    [
        ({"k": "3-6"}, {}),
        ({"k": "5", "rank_by": "occurrences", "list_size": 20, "all": True}, {}),  # lists that are thinned
        ({"k": "6", "rank_by": "occurrences", "beam": 10, "list_size": 47, "all": True}, {}),  # growth, too
        ({"k": "5", "rank_by": "graphs", "all": True}, {"contains": ("Conv", "Relu"), "max_in_degree": 2}),
        ({"k": "4", "rank_by": "mni", "list_size": 5, "all": True}, {"min_mni": 3}),
        ({"k": "4", "rank_by": "disjoint", "weighting": "graphs", "all": True}, {"min_graphs": 2}),
        (
            {"k": "4-5", "rank_by": "occurrences", "weighting": "graphs", "list_size": 5},
            {"only": ("Conv*", "Relu")},
        ),
        ({"k": "5"}, {"fusible": True}),
        ({"k": "4", "complete": True, "rank_by": "graphs"}, {"min_graphs": 3}),
        ({"k": "5", "start_from": "Conv -> BatchNormalization -> *"}, {}),
        ({"k": "4", "rank_by": "estimator", "estimator": "frequency", "samples": 500, "list_size": 5}, {}),
    ],
)
def test_catalogues(
    zoo: GraphSet,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    asked: dict[str, Any],
    wishes: dict[str, Any],
) -> None:
    monkeypatch.setattr(distinct, "ALONE", 0)  # also selections are made in blocks
    here = catalogue(zoo, tmp_path / "here", LOCAL, asked, **wishes)
    there = catalogue(zoo, tmp_path / "there", Blocks(5), asked, **wishes)
    assert here == there
