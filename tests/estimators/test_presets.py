"""Presets and changes to them."""

import pytest

from grade.errors import InputError
from grade.estimators import estimators, parse_changes, preset


def test_the_papers_settings_are_those_it_prints() -> None:
    disco, digress, defog = (preset(name, "paper", 16_000) for name in ("disco", "digress", "defog"))
    assert (disco.path_steps, disco.alpha, disco.gamma, disco.rounds, disco.epochs) == (
        100,
        0.8,
        2.0,
        20,
        200,
    )
    assert (digress.path_steps, digress.rounds, defog.rounds) == (500, 20, 60)
    assert all(
        (s.kernel, s.orbit, s.states, s.layers) == ("paper", False, 0.0, 5) for s in (disco, digress, defog)
    )


@pytest.mark.parametrize("name", list(estimators))
def test_every_estimator_has_a_default_and_a_fast_preset(name: str) -> None:
    small, large, fast = (
        preset(name, "default", 300),
        preset(name, "default", 50_000),
        preset(name, "fast", 50_000),
    )
    assert {small.estimator, large.estimator, fast.estimator} == {name}
    if name != "frequency":
        assert small.width < large.width
        assert fast.width < large.width
        assert all(s.orbit and s.kernel == "bridge" and s.steps == 0 for s in (small, large, fast))
        limits = [preset(name, "default", 900, types).maximum_steps for types in (10, 20, 200)]
        assert limits == [400, 800, 4_000]
        assert preset(name).maximum_steps == 4_000, "of an unknown sample"


def test_a_small_network_learns_many_types_from_many_occurrences_in_larger_batches_and_more_steps() -> None:
    def most(estimator: str, name: str, occurrences: int, types: int) -> tuple[int, int, int]:
        chosen = preset(estimator, name, occurrences, types)
        return chosen.layers, chosen.batch, chosen.maximum_steps

    assert most("autoregressive", "default", 4_999, 800) == (2, 128, 4_000)
    assert most("autoregressive", "default", 5_000, 800) == (2, 512, 10_000)
    assert most("autoregressive", "default", 5_000, 250) == (2, 512, 10_000)
    assert most("autoregressive", "default", 5_000, 50) == (2, 128, 2_000), "few types need few steps"
    assert most("autoregressive", "default", 5_000, 1_000) == (3, 256, 4_000)
    assert most("autoregressive", "fast", 5_000, 800) == (2, 128, 4_000)
    assert most("disco", "default", 5_000, 800) == (2, 128, 4_000)


def test_what_does_not_exist_is_refused() -> None:
    with pytest.raises(InputError, match="did you mean 'disco'"):
        preset("dixco")
    with pytest.raises(InputError, match="default, fast, paper"):
        preset("disco", "best")
    with pytest.raises(InputError, match="no autoregressive"):
        preset("autoregressive", "paper")


def test_changes_take_the_type_of_the_setting() -> None:
    assert parse_changes(["layers=3", "dropout=0.5", "orbit=no", "orders=all"]) == {
        "layers": 3,
        "dropout": 0.5,
        "orbit": False,
        "orders": "all",
    }
    for text, message in (
        ("layers", "NAME=VALUE"),
        ("depth=3", "known are"),
        ("layers=x", "type int"),
        ("orbit=maybe", "bool"),
    ):
        with pytest.raises(InputError, match=message):
            parse_changes([text])
