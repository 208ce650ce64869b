"""Counter-based random numbers."""

import torch

from grade.estimators.models import counters


def test_keys_stay_on_the_device_of_their_tensors() -> None:
    """A plain number as the last part must not move the key back to the processor."""
    rounds = torch.arange(4, device="meta")
    assert counters.combine(7, rounds, 3).device.type == "meta"
    assert counters.uniform(counters.combine(7, rounds, 3), 5).device.type == "meta"


def test_every_part_matters() -> None:
    keys = torch.cat(
        [counters.combine(seed, torch.arange(50), step) for seed in (0, 1) for step in (-1, 0, 1)]
    )
    assert len(keys.unique()) == len(keys)


def test_numbers_look_uniform_and_independent() -> None:
    u = counters.uniform(counters.combine(1, torch.arange(2000), 5), 8)
    assert abs(float(u.mean()) - 0.5) < 0.01
    assert abs(float(u.var()) - 1 / 12) < 0.003
    correlation = torch.corrcoef(u.T) - torch.eye(8)
    assert float(correlation.abs().max()) < 0.1
