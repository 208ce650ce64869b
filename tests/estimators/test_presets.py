"""Presets, changes to them, and how settings are stored."""

import json

import pytest

from grade.errors import InputError
from grade.estimators import estimators, parse_changes, plain_settings, preset
from grade.estimators.protocol import stored_settings


def test_the_papers_settings_are_those_it_prints() -> None:
    disco, digress, defog = (preset(name, "paper", 16_000).values() for name in ("disco", "digress", "defog"))
    names = ("path_steps", "alpha", "gamma", "states", "rounds", "epochs")
    assert [disco[name] for name in names] == [100, 0.8, 2.0, 0.0, 20, 200]
    assert (digress["path_steps"], digress["rounds"], defog["rounds"]) == (500, 20, 60)
    for values in (disco, digress, defog):
        assert (values["kernel"], values["orbit"], values["layers"]) == ("paper", False, 5)


@pytest.mark.parametrize("name", list(estimators))
def test_presets_differ_in_what_they_cost(name: str) -> None:
    fast, default, best = (preset(name, purpose, 300) for purpose in ("fast", "default", "best"))
    assert {fast.estimator, default.estimator, best.estimator} == {name}
    if name in ("frequency", "parts"):
        assert fast == default == best
        return
    steps = [settings.training.maximum_steps for settings in (fast, default, best)]
    assert steps == sorted(set(steps))
    assert [settings.training.members for settings in (fast, default, best)] == [1, 1, 5]
    assert default.width < preset(name, "default", 50_000).width
    for settings in (fast, default, best):
        assert settings.evidence
        assert settings.orbit
        fixed = settings is fast and "path_steps" in settings.values()
        assert (settings.training.steps > 0) == fixed, (
            "validation by paths would take longer than the training"
        )
        assert settings.values().get("kernel", "bridge") == "bridge"
    limits = [preset(name, "default", 900, patterns).training.maximum_steps for patterns in (10, 20, 2_000)]
    assert limits == [100, 200, 1_500], "few patterns need few steps"


@pytest.mark.parametrize("name", list(estimators))
def test_settings_survive_json(name: str) -> None:
    settings = preset(name, "fast", 300, seed=7)
    assert type(settings).from_json(json.loads(json.dumps(settings.to_json()))) == settings


def test_settings_of_other_estimators_are_passed_over_in_stored_models() -> None:
    """Models were stored with the settings of all estimators at first."""
    stored = {"estimator": "defog", "eta": 3.0, "alpha": 0.5, "masking": 0.2, "latent": 8, "members": 2}
    settings = stored_settings({"settings": stored})
    assert settings == plain_settings("defog", eta=3.0, members=2)


def test_what_does_not_exist_is_refused() -> None:
    with pytest.raises(InputError, match="did you mean 'disco'"):
        preset("dixco")
    with pytest.raises(InputError, match="default, fast, best, paper"):
        preset("disco", "better")
    with pytest.raises(InputError, match="no autoregressive"):
        preset("autoregressive", "paper")


def test_changes_take_the_type_of_the_setting() -> None:
    changes = parse_changes("autoregressive", ["layers=3", "dropout=0.5", "orbit=no", "orders=all"])
    assert changes == {"layers": 3, "dropout": 0.5, "orbit": False, "orders": "all"}
    for text, message in (
        ("layers", "NAME=VALUE"),
        ("depth=3", "known are seed"),
        ("layers=x", "type int"),
        ("orbit=maybe", "bool"),
        (
            "eta=1",
            r"The estimator autoregressive has no setting 'eta' \(a setting of defog\); known are seed, .*masking",
        ),
    ):
        with pytest.raises(InputError, match=message):
            parse_changes("autoregressive", [text])


@pytest.mark.parametrize("name", ["frequency", "parts"])
def test_what_has_no_network_has_no_settings_of_networks(name: str) -> None:
    with pytest.raises(InputError, match=f"{name} has no setting 'layers' .*known are seed, device"):
        preset(name, layers=3)
