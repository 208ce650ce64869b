from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from grade.errors import InputError
from grade.report.plots import discovery_curves, runtime_stacks, save

pytest.importorskip("matplotlib", reason="matplotlib is not installed")
NAME = "$a_b<c>&"


def figures() -> dict[str, object]:
    return {
        "discovery": discovery_curves({NAME: [(5, 9.0), (3, 900.0)], "other": [(4, 2.0)]}),
        "runtime": runtime_stacks({NAME: {"search": 2.0, "verification": 1.0}, "b": {"training": 5.0}}),
    }


@pytest.mark.parametrize("name", ["discovery", "runtime"])
def test_plots_are_files_that_are_the_same_every_time(name: str, tmp_path: Path) -> None:
    for suffix in ("svg", "png"):
        for time in ("first", "second"):
            save(figures()[name], tmp_path / f"{time}.{suffix}")  # type: ignore[arg-type]  # figures are typed as objects
        assert (tmp_path / f"first.{suffix}").read_bytes() == (tmp_path / f"second.{suffix}").read_bytes()
    texts = list(ElementTree.parse(tmp_path / "first.svg").getroot().itertext())
    assert any(NAME in text for text in texts)


def test_stages_are_stacked() -> None:
    axes = runtime_stacks({"a": {"search": 2.0, "verification": 1.0}, "b": {"training": 5.0}}).axes[0]
    bars = [[(bar.get_x(), bar.get_width()) for bar in stage] for stage in axes.containers]
    assert bars == [[(0, 2), (0, 0)], [(2, 1), (0, 0)], [(3, 0), (0, 5)]]


def test_curves_go_from_left_to_right() -> None:
    axes = discovery_curves({"a": [(5, 4.0), (3, 1.0)]}).axes[0]
    assert np.asarray(axes.lines[0].get_xydata()).tolist() == [[3, 1], [5, 4]]


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"must end in \.svg or \.png"):
        save(discovery_curves({"a": [(1, 0.5)]}), tmp_path / "a.jpg")
