from pathlib import Path
from xml.etree import ElementTree

import numpy as np
import pytest

from grade.errors import InputError
from grade.report.plots import density_curves, discovery_curves, rank_scatter, runtime_stacks, save

pytest.importorskip("matplotlib", reason="matplotlib is not installed")
NAME = "$a_b<c>&"


def figures() -> dict[str, object]:
    return {
        "scatter": rank_scatter([1.0, 2.0, 3.0], [10, 30, 20], NAME),
        "density": density_curves({NAME: [(100, 0.4), (10, 0.1)], "other": [(10, 0.2)]}),
        "discovery": discovery_curves({NAME: [(3, 900.0), (5, 9.0)]}),
        "runtime": runtime_stacks({NAME: {"search": 2.0, "verification": 1.0}, "b": {"training": 5.0}}),
    }


@pytest.mark.parametrize("name", ["scatter", "density", "discovery", "runtime"])
def test_plots_are_files_that_are_the_same_every_time(name: str, tmp_path: Path) -> None:
    for suffix in ("svg", "png"):
        for time in ("first", "second"):
            save(figures()[name], tmp_path / f"{time}.{suffix}")  # type: ignore[arg-type]  # figures are typed as objects
        assert (tmp_path / f"first.{suffix}").read_bytes() == (tmp_path / f"second.{suffix}").read_bytes()
    texts = list(ElementTree.parse(tmp_path / "first.svg").getroot().itertext())
    assert any(NAME in text for text in texts)


def test_the_scatter_tells_the_rank_correlation() -> None:
    axes = rank_scatter([1.0, 2.0, 3.0], [10, 30, 20]).axes[0]
    assert axes.texts[0].get_text() == "Spearman 0.500, 3 patterns"
    assert np.asarray(axes.collections[0].get_offsets()).tolist() == [[10, 1], [30, 2], [20, 3]]


def test_stages_are_stacked() -> None:
    axes = runtime_stacks({"a": {"search": 2.0, "verification": 1.0}, "b": {"training": 5.0}}).axes[0]
    bars = [[(bar.get_x(), bar.get_width()) for bar in stage] for stage in axes.containers]
    assert bars == [[(0, 2), (0, 0)], [(2, 1), (0, 0)], [(3, 0), (0, 5)]]


def test_curves_go_from_left_to_right() -> None:
    axes = density_curves({"a": [(100, 0.4), (10, 0.1)]}).axes[0]
    assert np.asarray(axes.lines[0].get_xydata()).tolist() == [[10, 0.1], [100, 0.4]]


def test_other_files_are_refused(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"must end in \.svg or \.png"):
        save(density_curves({"a": [(1, 0.5)]}), tmp_path / "a.jpg")
