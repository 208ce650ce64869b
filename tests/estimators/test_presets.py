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
def test_presets_differ_in_what_they_cost(name: str) -> None:
    fast, default, best = (preset(name, purpose, 300) for purpose in ("fast", "default", "best"))
    assert {fast.estimator, default.estimator, best.estimator} == {name}
    if name in ("frequency", "parts"):
        assert fast == default == best
        return
    assert fast.maximum_steps < default.maximum_steps < best.maximum_steps
    assert (fast.members, default.members, best.members) == (1, 1, 5)
    assert default.width < preset(name, "default", 50_000).width
    assert all(
        s.evidence and s.orbit and s.kernel == "bridge" and s.steps == 0 for s in (fast, default, best)
    )
    limits = [preset(name, "default", 900, patterns).maximum_steps for patterns in (10, 20, 2_000)]
    assert limits == [100, 200, 1_500], "few patterns need few steps"


def test_what_does_not_exist_is_refused() -> None:
    with pytest.raises(InputError, match="did you mean 'disco'"):
        preset("dixco")
    with pytest.raises(InputError, match="default, fast, best, paper"):
        preset("disco", "better")
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
