"""The training loop: stopping, averaging, resuming, refusing."""

import math
from pathlib import Path

import pytest
import torch
from torch import Tensor, nn

from grade.errors import InputError
from grade.estimators.training import loop
from grade.estimators.training.loop import Trained, train
from grade.estimators.training.state_file import StateFile
from grade.settings import TrainingSettings

CPU = torch.device("cpu")
SETTINGS = TrainingSettings(batch=8, learning_rate=0.05, warmup=2)


def build() -> nn.Module:
    return nn.Sequential(nn.Linear(3, 8), nn.Dropout(0.3), nn.Linear(8, 1))


def draw(batch: int) -> tuple[Tensor]:
    return (torch.rand(batch, 3),)


def loss(network: nn.Module, x: Tensor) -> Tensor:
    result: Tensor = (network(x) - x.sum(1, keepdim=True)).square().mean()
    return result


def state(trained: Trained) -> list[float]:
    return [value for tensor in trained.network.state_dict().values() for value in tensor.flatten().tolist()]


class KilledError(Exception):
    pass


def test_a_killed_training_ends_with_the_same_result(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(loop, "CHECKPOINT_SECONDS", 0.0)
    monkeypatch.setattr(loop, "FIRST_VALIDATION", 10)

    def validate(network: nn.Module) -> float:
        x = torch.eye(3)
        return float((network(x) - 1).square().mean().detach())

    whole = train(build, draw, loss, SETTINGS, steps=60, seed=3, device=CPU, validate=validate)
    taken = 0

    def dies(network: nn.Module, x: Tensor) -> Tensor:
        nonlocal taken
        taken += 1
        if taken == 38:
            raise KilledError
        return loss(network, x)

    checkpoint = StateFile(tmp_path / "run.npz", "run")
    with pytest.raises(KilledError):
        train(
            build,
            draw,
            dies,
            SETTINGS,
            steps=60,
            seed=3,
            device=CPU,
            validate=validate,
            checkpoint=checkpoint,
        )
    resumed = train(
        build, draw, loss, SETTINGS, steps=60, seed=3, device=CPU, validate=validate, checkpoint=checkpoint
    )
    assert state(resumed) == state(whole)
    assert resumed.history == whole.history


def test_the_same_seed_gives_the_same_network_and_leaves_the_generator_alone() -> None:
    torch.manual_seed(5)
    before = torch.get_rng_state()
    first = train(build, draw, loss, SETTINGS, steps=5, seed=1, device=CPU)
    assert torch.equal(torch.get_rng_state(), before)
    assert state(first) == state(train(build, draw, loss, SETTINGS, steps=5, seed=1, device=CPU))
    assert state(first) != state(train(build, draw, loss, SETTINGS, steps=5, seed=2, device=CPU))


def test_the_best_network_is_restored_and_training_stops_early() -> None:
    seen: list[list[float]] = []

    def validate(network: nn.Module) -> float:
        seen.append([v for t in network.state_dict().values() for v in t.flatten().tolist()])
        return abs(len(seen) - 4)  # best at the fourth validation

    trained = train(build, draw, loss, SETTINGS, steps=10_000, seed=0, device=CPU, validate=validate)
    assert trained.value == 0
    assert state(trained) == seen[3]
    assert trained.step == trained.history[3][0]
    assert trained.history[-1][0] < 3 * max(trained.step, 2 * loop.FIRST_VALIDATION)


def test_the_average_forgets_the_start_whatever_the_length() -> None:
    for steps in (20, 2000):
        kept = math.prod(1 - loop.average_share(SETTINGS, step) for step in range(1, steps + 1))
        assert kept == 0
        half = math.prod(1 - loop.average_share(SETTINGS, step) for step in range(steps // 2, steps + 1))
        assert half < 0.01  # weights older than half of the training hardly count


def test_a_loss_that_is_not_a_number_is_refused() -> None:
    with pytest.raises(InputError, match="learning_rate"):
        train(
            build,
            draw,
            lambda network, x: network(x * math.nan).sum(),
            SETTINGS,
            steps=5,
            seed=0,
            device=CPU,
        )


@pytest.mark.parametrize("damage", ["other bytes", "one bit", "another training"])
def test_a_damaged_checkpoint_is_refused(damage: str, tmp_path: Path) -> None:
    path = tmp_path / "run.npz"
    file = StateFile(path, "first")
    loop.Run(build(), SETTINGS, CPU, steps=5, bfloat16=False).save(file)
    assert file.load() is not None
    if damage == "other bytes":
        path.write_bytes(b"not a checkpoint")
    elif damage == "one bit":
        content = bytearray(path.read_bytes())
        content[len(content) // 3] ^= 1
        path.write_bytes(bytes(content))
    else:
        file = StateFile(path, "second")
    with pytest.raises(InputError, match=r"run\.npz is damaged, or of another training; remove it"):
        train(build, draw, loss, SETTINGS, steps=5, seed=0, device=CPU, checkpoint=file)


def test_an_unknown_schedule_is_refused() -> None:
    with pytest.raises(InputError, match="constant, cosine"):
        loop.learning_rate(TrainingSettings(schedule="step"), 1, 10)


def test_schedules() -> None:
    settings = TrainingSettings(learning_rate=1.0, warmup=10, schedule="cosine")
    assert loop.learning_rate(settings, 5, 1000) == pytest.approx(0.5, abs=1e-3)
    assert loop.learning_rate(settings, 500, 1000) == pytest.approx(0.5)
    assert loop.learning_rate(settings, 1000, 1000) == pytest.approx(0)
