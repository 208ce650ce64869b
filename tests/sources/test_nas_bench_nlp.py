import gzip
import json
import os
import zipfile
from pathlib import Path
from typing import Any

import pytest

from grade import GraphSet, InputError
from grade.sampling.census import take_census
from grade.sources import load, to_networkx
from grade.sources.nas_bench_nlp import TYPES
from tests.graph_sets import assert_equal

RNN = {
    "f": {"op": "linear", "input": ["x", "h_prev_0"]},
    "h_new_0": {"op": "activation_tanh", "input": ["f"]},
}
EARLY = {
    "h_new_0": {"op": "blend", "input": ["gate", "h_prev_0", "f"]},
    "f": {"op": "linear", "input": ["x", "x"]},
    "gate": {"op": "activation_sigm", "input": ["f"]},
}


def recipes(**models: Any) -> dict[str, Any]:
    texts = {name.strip("m"): json.dumps(recipe) for name, recipe in models.items()}
    return {"recepie": texts, "status": dict.fromkeys(texts, "OK")}


def write(path: Path, content: Any) -> str:
    path.write_text(json.dumps(content))
    return f"nas-bench-nlp:{path}"


@pytest.fixture(scope="module")
def cells() -> GraphSet:
    folder = os.environ.get("GRADE_TEST_DATA")
    path = Path(folder or "") / "nasbench_nlp_recipes.json.gz"
    if folder is None or not path.is_file():
        pytest.skip("GRADE_TEST_DATA does not name a folder with nasbench_nlp_recipes.json.gz")
    return load(f"nas-bench-nlp:{path}")


def test_the_benchmark(cells: GraphSet) -> None:
    assert (len(cells), cells.nodes, cells.edges) == (7_258, 83_456, 94_527)
    assert cells.largest == 13
    assert cells.node_vocabulary == TYPES


@pytest.mark.parametrize(("k", "instances", "types"), [(4, 280_409, 5_957), (5, 439_831, 30_536)])
def test_census_of_the_benchmark(cells: GraphSet, k: int, instances: int, types: int) -> None:
    census = take_census(cells, k)
    assert (census.instances, len(census.patterns)) == (instances, types)


def test_a_recipe_becomes_a_graph(tmp_path: Path) -> None:
    graphs = load(write(tmp_path / "recipes.json", recipes(m7=EARLY)))
    graph = to_networkx(graphs, 0)
    assert graph.name == "7"
    names = ["x", "h_prev_0", "h_prev_1", "h_prev_2", "f", "gate", "h_new_0", "output"]
    assert [graph.nodes[node]["name"] for node in graph] == names
    types = ["input"] * 4 + ["linear", "activation_sigm", "blend", "output"]
    assert [graph.nodes[node]["type"] for node in graph] == types
    assert sorted(graph.edges) == [(0, 4), (1, 6), (4, 5), (4, 6), (5, 6), (6, 7)]


def test_equal_cells_are_kept_once_and_large_ones_not_at_all(tmp_path: Path) -> None:
    renamed = {"g": RNN["f"], "h_new_1": {"op": "activation_tanh", "input": ["g"]}}
    large = {**RNN, **{f"n{i}": {"op": "linear", "input": ["x"]} for i in range(7)}}
    largest = {**RNN, **{f"n{i}": {"op": "linear", "input": ["x"]} for i in range(6)}}
    graphs = load(write(tmp_path / "r.json", recipes(m10=renamed, m9=RNN, m11=large, m12=largest)))
    assert list(graphs.graph_names) == ["9", "12"]
    assert graphs.node_counts.tolist() == [7, 13]


def test_archive_plain_and_gzipped_files_give_the_same_set(tmp_path: Path) -> None:
    content = recipes(m1000001=RNN, m1000002=EARLY)
    plain = load(write(tmp_path / "recipes.json", content))
    with gzip.open(tmp_path / "recipes.json.gz", "wt") as file:
        json.dump(content, file)
    with zipfile.ZipFile(tmp_path / "logs.zip", "w") as archive:
        for model, text in reversed(content["recepie"].items()):
            log = {"recepie": text, "val_losses": [1.0, 0.5]}
            archive.writestr(f"train_logs/log_stats_model_{model}.json", json.dumps(log))
        archive.writestr("train_logs/readme.txt", "not a log")
    assert len(plain) == 2
    assert_equal(load(f"nas-bench-nlp:{tmp_path / 'recipes.json.gz'}"), plain)
    assert_equal(load(f"nas-bench-nlp:{tmp_path / 'logs.zip'}"), plain)


@pytest.mark.parametrize(
    ("recipe", "sentence"),
    [
        ({"f": {"op": "conv", "input": ["x"]}}, "node 'f' of model 1 has no known operation"),
        ({"f": {"op": "linear", "input": "x"}}, "node 'f' of model 1 has no list of inputs"),
        ({"f": {"op": "linear", "input": ["y"]}}, "node 'f' of model 1 reads a node that is missing"),
        ({"f": {"op": "linear", "input": ["f"]}}, "node 'f' of model 1 reads a node that is missing"),
        ({"x": {"op": "linear", "input": []}}, "a node with the name of the input 'x'"),
        ([], "the recipe of model 1 is not a mapping"),
    ],
)
def test_a_bad_recipe_is_refused(tmp_path: Path, recipe: Any, sentence: str) -> None:
    spec = write(tmp_path / "recipes.json", recipes(m1=recipe))
    with pytest.raises(InputError) as error:
        load(spec)
    assert sentence in str(error.value)
    assert "recipes.json" in str(error.value)


def test_other_files_are_refused(tmp_path: Path) -> None:
    (tmp_path / "text.json").write_text("hello")
    (tmp_path / "cut.json.gz").write_bytes(gzip.compress(b'{"recepie": {}}' * 99)[:-20])
    with zipfile.ZipFile(tmp_path / "photos.zip", "w") as archive:
        archive.writestr("holiday.jpg", "")
    with zipfile.ZipFile(tmp_path / "other.zip", "w") as archive:
        archive.writestr("package.json", "{}")
    for name, sentence in [
        ("text.json", "text.json is not JSON"),
        ("cut.json.gz", "cut.json.gz cannot be read"),
        ("photos.zip", "it holds no JSON logs"),
        ("other.zip", "package.json holds no recipe"),
        ("missing.json", "There is no file"),
    ]:
        with pytest.raises(InputError) as error:
            load(f"nas-bench-nlp:{tmp_path / name}")
        assert sentence in str(error.value)
        assert name in str(error.value)
    for content in ({}, {"recepie": []}, {"recepie": {"1": 2}}, []):
        with pytest.raises(InputError, match="is not a file of NAS-Bench-NLP recipes"):
            load(write(tmp_path / "list.json", content))


def test_the_path_is_needed() -> None:
    with pytest.raises(InputError, match="needs something to read: write nas-bench-nlp:PATH"):
        load("nas-bench-nlp")
