import re
import subprocess
import sys
from pathlib import Path
from xml.etree import ElementTree

import pytest

from grade.errors import InputError
from grade.graphs import Pattern
from grade.report.drawing import colours, save_picture, svg
from tests.report.gallery import GALLERY

SVG = "{http://www.w3.org/2000/svg}"


@pytest.mark.parametrize("name", GALLERY)
def test_every_node_is_a_box_whose_label_fits_and_every_edge_an_arrow(name: str) -> None:
    pattern = GALLERY[name]
    root = ElementTree.fromstring(svg(pattern))
    groups = root.findall(f"{SVG}g")
    assert [group.findtext(f"{SVG}title") for group in groups] == list(pattern.type_names)
    for group in groups:
        box, label = group.find(f"{SVG}rect"), group.find(f"{SVG}text")
        assert box is not None
        assert label is not None
        assert len(label.text or "") * 0.61 * float(label.attrib["font-size"]) < float(box.attrib["width"])
    lines = [path for path in root.findall(f"{SVG}path") if path.attrib["fill"] == "none"]
    assert len(lines) == len(pattern.edge_list)
    order = [child.tag for child in root]
    assert max((i for i, tag in enumerate(order) if tag == f"{SVG}path"), default=0) < order.index(f"{SVG}g")


def test_hostile_names_stay_text() -> None:
    name = "</title><script>alert('&')</script>\x00\x1b"
    picture = svg(Pattern.of([0, 1], [[0, 1], [0, 0]], (name, "b")))
    root = ElementTree.fromstring(picture)
    assert {element.tag.removeprefix(SVG) for element in root.iter()} == {
        "svg",
        "title",
        "g",
        "rect",
        "text",
        "path",
    }
    assert "<script" not in picture
    assert name[:-2] in "".join(root.itertext())


def test_types_have_colours_of_their_own_in_every_process() -> None:
    names = ["Conv", "Relu", "Add", "Concat", "MatMul", "Gemm"]
    assert len({colours(name) for name in names}) == len(names)
    program = "from grade.report.drawing import colours; print(colours('Conv'))"
    found = [
        subprocess.run(
            [sys.executable, "-c", program], env={"PYTHONHASHSEED": seed}, capture_output=True, text=True
        )
        for seed in ("1", "2")
    ]
    assert {run.stdout.strip() for run in found} == {str(colours("Conv"))}


def test_edge_types_are_written_where_there_are_several() -> None:
    edges = [[0, 2], [1, 0]]
    two = Pattern.of([0, 1], edges, ("a", "b"), ("none", "data", "state"))
    assert set(re.findall(r">(data|state)<", svg(two))) == {"data", "state"}


def test_pictures_as_files(tmp_path: Path) -> None:
    pattern = GALLERY["residual"]
    save_picture(pattern, tmp_path / "a.svg")
    assert (tmp_path / "a.svg").read_text() == svg(pattern)
    pytest.importorskip("matplotlib", reason="matplotlib is not installed")
    from matplotlib.image import imread

    save_picture(pattern, tmp_path / "a.png")
    pixels = imread(tmp_path / "a.png")
    root = ElementTree.fromstring(svg(pattern))
    assert abs(pixels.shape[0] - 2 * float(root.attrib["height"])) <= 2
    assert abs(pixels.shape[1] - 2 * float(root.attrib["width"])) <= 2
    fill = [int(colours("Relu")[0][i : i + 2], 16) / 255 for i in (1, 3, 5)]
    assert (abs(pixels[:, :, :3] - fill).max(axis=2) < 0.01).sum() > 500
    with pytest.raises(InputError, match=r"must end in \.svg or \.png"):
        save_picture(pattern, tmp_path / "a.gif")


def test_a_pattern_shows_itself_in_a_notebook() -> None:
    assert GALLERY["pair"]._repr_svg_() == svg(GALLERY["pair"])
