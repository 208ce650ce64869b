import json
from pathlib import Path

import numpy as np
import pytest

from grade import GraphSet
from grade.errors import InputError
from grade.graphs import SubgraphSample
from grade.graphs.sample import load_sample, save_sample
from grade.sampling import sample
from grade.sealed import write_description


@pytest.fixture
def drawn() -> SubgraphSample:
    graphs = GraphSet.from_edges(
        node_counts=[5],
        node_types=[0, 1, 1, 0, 2],
        edge_counts=[5],
        edges=[(0, 1), (1, 2), (2, 3), (3, 4), (4, 0)],
        node_vocabulary=["größe", "conv", "add"],
    )
    return sample(graphs, 3, "rand-fase", count=4, seed=1)


def test_a_saved_sample_comes_back(drawn: SubgraphSample, tmp_path: Path) -> None:
    save_sample(drawn, tmp_path / "sample")
    again = load_sample(tmp_path / "sample")
    np.testing.assert_array_equal(again.occurrences, drawn.occurrences)
    np.testing.assert_array_equal(again.weights, drawn.weights)
    np.testing.assert_array_equal(again.pattern_ids, drawn.pattern_ids)
    assert list(again.patterns) == list(drawn.patterns)
    assert again.patterns.node_vocabulary == ("größe", "conv", "add")
    assert again.patterns.edge_vocabulary == ("none", "edge")
    assert again.drawn == drawn.drawn
    assert [path.name for path in tmp_path.iterdir()] == ["sample"]


def test_a_sample_replaces_a_sample_and_nothing_else(drawn: SubgraphSample, tmp_path: Path) -> None:
    folder = tmp_path / "sample"
    folder.mkdir()
    save_sample(drawn, folder)
    save_sample(drawn, folder)
    assert len(load_sample(folder)) == 4
    other = tmp_path / "other"
    other.mkdir()
    (other / "note.txt").write_text("mine")
    with pytest.raises(InputError, match="exists and is not a sample"):
        save_sample(drawn, other)
    assert (other / "note.txt").read_text() == "mine"
    with pytest.raises(InputError, match="does not exist; create it first"):
        save_sample(drawn, tmp_path / "absent" / "sample")


def change(folder: Path, **values: object) -> None:
    description = json.loads((folder / "sample.json").read_text())
    (folder / "sample.json").write_text(json.dumps({**description, **values}))


def overwrite(folder: Path, name: str, array: np.ndarray) -> None:
    np.save(folder / f"{name}.npy", array)


DAMAGE = {
    "no description": lambda f: (f / "sample.json").unlink(),
    "no JSON": lambda f: (f / "sample.json").write_text("{"),
    "another format": lambda f: change(f, format="grade-census"),
    "another version": lambda f: change(f, version=3),
    "no k": lambda f: change(f, k=None),
    "no vocabulary": lambda f: change(f, node_vocabulary=7),
    "how it was drawn": lambda f: change(f, drawn=[1]),
    "fewer occurrences": lambda f: change(f, occurrences=3),
    "an array is missing": lambda f: (f / "weights.npy").unlink(),
    "an array is cut off": lambda f: (f / "edges.npy").write_bytes((f / "edges.npy").read_bytes()[:-2]),
    "an array is a pickle": lambda f: overwrite(f, "weights", np.array([{}] * 4, object)),
    "another type": lambda f: overwrite(f, "weights", np.ones(4, np.float32)),
    "a pattern that is not there": lambda f: overwrite(f, "pattern_ids", np.full(4, 99, np.int32)),
    "a negative pattern": lambda f: overwrite(f, "pattern_ids", np.full(4, -1, np.int32)),
    "a weight of zero": lambda f: overwrite(f, "weights", np.zeros(4)),
    "a weight that is no number": lambda f: overwrite(f, "weights", np.full(4, np.nan)),
    "patterns out of order": lambda f: overwrite(f, "node_types", np.load(f / "node_types.npy")[:, ::-1]),
    "a pattern twice": lambda f: [
        overwrite(f, name, np.repeat(np.load(f / f"{name}.npy")[:1], count(f), axis=0))
        for name in ("node_types", "edges")
    ],
}


def count(folder: Path) -> int:
    patterns = json.loads((folder / "sample.json").read_text())["patterns"]
    assert patterns > 1
    return int(patterns)


@pytest.mark.parametrize("forged", [False, True])
@pytest.mark.parametrize("damage", DAMAGE)
def test_a_damaged_sample_is_refused(
    damage: str, forged: bool, drawn: SubgraphSample, tmp_path: Path
) -> None:
    """Also when somebody has put the checksums right."""
    folder = tmp_path / "sample"
    save_sample(drawn, folder)
    DAMAGE[damage](folder)
    if forged and damage not in ("no description", "no JSON"):
        description = json.loads((folder / "sample.json").read_text())
        (folder / "sample.json").unlink()
        write_description(
            folder,
            "sample.json",
            {name: value for name, value in description.items() if name not in ("files", "sha256")},
        )
    with pytest.raises(InputError, match=rf"{folder}.*'grade sample'\.$"):
        load_sample(folder)


@pytest.mark.parametrize(
    "name",
    ["occurrences.npy", "weights.npy", "pattern_ids.npy", "node_types.npy", "edges.npy", "sample.json"],
)
def test_every_byte_of_a_sample_counts(name: str, drawn: SubgraphSample, tmp_path: Path) -> None:
    folder = tmp_path / "sample"
    save_sample(drawn, folder)
    whole = (folder / name).read_bytes()
    rng = np.random.default_rng(len(whole))
    for place in rng.choice(len(whole), 20, replace=False).tolist():
        (folder / name).write_bytes(whole[:place] + bytes([whole[place] ^ 1]) + whole[place + 1 :])
        with pytest.raises(InputError, match=r"sample"):
            load_sample(folder)


def test_what_is_no_folder_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    for name in ("file", "absent"):
        with pytest.raises(InputError, match=r"is not a sample, for it has no sample\.json"):
            load_sample(tmp_path / name)
