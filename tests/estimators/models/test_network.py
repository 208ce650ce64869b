"""What all estimators with a network share: refusals, finite scores, storage, resuming."""

import warnings
from pathlib import Path

import numpy as np
import pytest
import torch
from torch import Tensor, nn

from grade.errors import InputError
from grade.estimators import Estimator, fit, load_estimator, preset
from grade.estimators.models.autoregressive import Autoregressive
from grade.estimators.models.encoding import Graphs, encode
from grade.estimators.protocol import FORMAT, MODEL_FILE, TENSOR_FILE, read_model, write_model
from grade.estimators.space import GraphSpace
from grade.estimators.training import loop
from grade.graphs import PatternTable
from tests.estimators.spaces import all_classes, census_201, sample_of, settings_of, uniform_sample

QUICK = {
    "layers": 1,
    "width": 16,
    "heads": 2,
    "steps": 5,
    "batch": 32,
    "learning_rate": 1e-2,
    "device": "cpu",
}
CHAIN = [[0, 1, 0], [0, 0, 1], [0, 0, 0]]
RING = [[0, 1, 0], [0, 0, 1], [1, 0, 0]]
NAMES = ("input", "conv", "pool")


def chains() -> PatternTable:
    """A few acyclic patterns without self-loops that use two of the three node types."""
    return PatternTable.canonical([[0, 1, 1], [0, 0, 1], [1, 0, 1]], [CHAIN] * 3, NAMES, ("none", "edge"))


@pytest.fixture(params=["autoregressive", "frequency"])
def model(request: pytest.FixtureRequest) -> Estimator:
    return fit(sample_of(chains(), np.array([5, 3, 2])), settings_of(request.param, QUICK))


def test_patterns_of_another_size_or_vocabulary_are_refused(model: Estimator) -> None:
    with pytest.raises(InputError, match="3 nodes and cannot score 2"):
        model.log_probability(PatternTable.canonical([[0, 1]], [[[0, 1], [0, 0]]]))
    with pytest.raises(InputError, match="node vocabulary differs"):
        model.log_probability(PatternTable.canonical([[0, 1, 1]], [CHAIN], ("a", "b", "c")))
    with pytest.raises(InputError, match="3 node types and 1 edge types"):
        model.log_probability(PatternTable.canonical([[0, 1, 3]], [CHAIN]))


def test_every_score_is_finite_and_strange_patterns_come_last(model: Estimator) -> None:
    loop = np.array(CHAIN)
    loop[1, 1] = 1
    strange = PatternTable.canonical([[2, 2, 2], [0, 1, 1], [0, 1, 1]], [CHAIN, RING, loop], NAMES)
    scores = model.log_probability(strange)
    assert np.isfinite(scores).all()
    assert scores.max() < model.log_probability(chains()).min()


def test_no_patterns_get_no_scores(model: Estimator) -> None:
    assert model.log_probability(chains().take(np.zeros(0, int))).shape == (0,)


def test_self_loops_and_cycles_are_learned_where_the_sample_has_them() -> None:
    loop = np.array(RING)
    loop[0, 0] = 1
    table = PatternTable.canonical([[0, 1, 1], [0, 1, 1], [0, 0, 1]], [RING, loop, CHAIN], NAMES)
    space = GraphSpace.of([sample_of(table, np.array([1, 1, 1]))])
    assert (space.loops, space.acyclic, space.node_states) == (True, False, 6)
    graphs, inside = encode(space, table)
    assert inside.all()
    assert sorted(graphs.nodes[1].tolist()) != sorted(graphs.nodes[0].tolist())
    model = fit(sample_of(table, np.array([50, 50, 5])), settings_of("autoregressive", QUICK, steps=60))
    scores = model.log_probability(table)
    assert min(scores[0], scores[1]) > scores[2] + 1


def test_an_empty_sample_is_refused() -> None:
    with pytest.raises(InputError, match="empty"):
        fit(sample_of(chains(), np.array([0, 0, 0])), settings_of("autoregressive", QUICK))


def test_samples_of_one_fit_must_fit_together() -> None:
    sample = sample_of(chains(), np.array([1, 1, 1]))
    with pytest.raises(InputError, match="same size"):
        fit([sample, sample], settings_of("autoregressive", QUICK))
    other = sample_of(PatternTable.canonical([[0, 1]], [[[0, 1], [0, 0]]], ("a", "b")), np.array([1]))
    with pytest.raises(InputError, match="different vocabularies"):
        fit([sample, other], settings_of("autoregressive", QUICK))


def test_unknown_devices_are_refused() -> None:
    with pytest.raises(InputError, match="abacus"):
        fit(sample_of(chains(), np.array([1, 1, 1])), settings_of("autoregressive", QUICK, device="abacus"))


def test_a_stored_model_scores_the_same(model: Estimator, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    loaded = load_estimator(tmp_path / "model")
    table = all_classes(3, 3, upper=True)
    assert loaded.log_probability(table).tolist() == model.log_probability(table).tolist()
    assert loaded.settings == model.settings
    assert sorted(path.name for path in tmp_path.iterdir()) == ["model"]


def test_damaged_models_are_refused(model: Estimator, tmp_path: Path) -> None:
    folder = tmp_path / "model"
    with pytest.raises(InputError, match="no model"):
        load_estimator(folder)
    model.save(folder)
    whole = (folder / TENSOR_FILE).read_bytes()
    (folder / TENSOR_FILE).write_bytes(whole[: len(whole) // 2])
    with pytest.raises(InputError, match="damaged"):
        load_estimator(folder)
    model.save(folder)
    description = (folder / MODEL_FILE).read_text()
    (folder / MODEL_FILE).write_text(description.replace(f'"format": {FORMAT}', '"format": 9'))
    with pytest.raises(InputError, match="format 9"):
        load_estimator(folder)
    (folder / MODEL_FILE).write_text(description[:100])
    with pytest.raises(InputError, match="damaged"):
        load_estimator(folder)


@pytest.mark.parametrize(
    ("value", "sentence"),
    [
        (float("nan"), "model has weights that are not finite numbers; fit it again"),
        (float("inf"), "model has weights that are not finite numbers; fit it again"),
        (1e38, "gives scores that are not numbers; fit it again"),
    ],
)
@pytest.mark.parametrize("evidence", [False, True])
@pytest.mark.filterwarnings("error")
def test_weights_beyond_numbers_are_refused(
    value: float, sentence: str, evidence: bool, tmp_path: Path
) -> None:
    sample = sample_of(chains(), np.array([5, 3, 2]))
    fit(sample, settings_of("autoregressive", QUICK, evidence=evidence)).save(tmp_path / "model")
    description, tensors = read_model(tmp_path / "model")
    weights = next(name for name, tensor in tensors.items() if tensor.ndim == 2 and "network.0." in name)
    content = {name: each for name, each in description.items() if name not in ("files", "sha256", "format")}
    write_model(tmp_path / "model", content, {**tensors, weights: np.full_like(tensors[weights], value)})
    with pytest.raises(InputError, match=sentence):
        load_estimator(tmp_path / "model").log_probability(sample.patterns)


def test_a_model_does_not_replace_other_files(model: Estimator, tmp_path: Path) -> None:
    (tmp_path / "thesis").mkdir()
    (tmp_path / "thesis" / "chapter.txt").write_text("irreplaceable")
    with pytest.raises(InputError, match="no model"):
        model.save(tmp_path / "thesis")
    assert (tmp_path / "thesis" / "chapter.txt").read_text() == "irreplaceable"


def test_held_out_patterns_choose_the_steps_and_a_killed_fit_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(loop, "CHECKPOINT_SECONDS", 0.0)
    table, counts = census_201(4)
    sample = uniform_sample(table, counts, 150, 0)
    settings = settings_of(
        "autoregressive", QUICK, steps=0, maximum_steps=80, members=2, learning_rate=3e-2, warmup=5
    )
    original, calls = Autoregressive.loss, 0

    def counted(self: Autoregressive, network: nn.Module, graphs: Graphs) -> Tensor:
        nonlocal calls
        calls += 1
        if calls == deadline:
            raise KeyboardInterrupt
        return original(self, network, graphs)

    monkeypatch.setattr(Autoregressive, "loss", counted)
    deadline = -1
    whole = fit(sample, settings)
    total = calls
    history = dict(whole.fitted.held_out)
    assert whole.fitted.steps == min(history, key=history.__getitem__)

    calls, deadline = 0, total - (whole.fitted.steps or 0) // 2  # in the middle of the last training
    with pytest.raises(KeyboardInterrupt):
        fit(sample, settings, folder=tmp_path / "work")
    resumed = fit(sample, settings, folder=tmp_path / "work")
    assert calls <= total + 1  # what was done was not done again
    assert resumed.log_probability(table).tolist() == whole.log_probability(table).tolist()
    lines = (tmp_path / "work" / "metrics.jsonl").read_text().splitlines()
    assert any('"phase": "member-1"' in line for line in lines)

    with pytest.raises(InputError, match="another fit"):
        fit(sample, settings.changed(seed=7), folder=tmp_path / "work")


@pytest.mark.parametrize("estimator", ["autoregressive", "disco"])
def test_the_number_of_threads_changes_nothing(estimator: str) -> None:
    """Networks wide enough for torch to split their sums among threads."""
    table, counts = census_201(4)
    sample = uniform_sample(table, counts, 279, 0)
    few = {"rounds": 2, "path_steps": 3} if estimator == "disco" else {}
    settings = preset(estimator, "fast", 279, steps=6, width=128, batch=256, device="cpu", **few)
    scores = []
    for threads in (1, 2):
        torch.set_num_threads(threads)
        model = fit(sample, settings)
        assert torch.get_num_threads() == threads
        scores.append(model.log_probability(table.take(np.arange(300))))
    assert scores[0].tolist() == scores[1].tolist()


@pytest.mark.parametrize(("nodes", "warned"), [(8, False), (9, True)])
def test_large_patterns_without_a_gpu_come_with_the_remedy(
    nodes: int, warned: bool, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    path = PatternTable.canonical([[0] * nodes], [np.eye(nodes, k=1, dtype=int)])
    with warnings.catch_warnings(record=True) as found:
        warnings.simplefilter("always")
        fit(sample_of(path, np.array([3])), settings_of("autoregressive", QUICK, device="auto", steps=1))
    remedies = [str(each.message) for each in found if "`estimator` parts" in str(each.message)]
    assert len(remedies) == warned
