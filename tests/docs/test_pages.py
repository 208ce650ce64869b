import re
import sys
from pathlib import Path

import pytest

from grade.sources import sources
from tests.docs.examples import ROOT, run_page
from tests.onnx_models import BUNDLED

sys.path.insert(0, str(ROOT / "docs"))
import command_line

PAGES = [ROOT / "README.md", ROOT / "CONTRIBUTING.md", *sorted((ROOT / "docs").glob("*.md"))]


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_every_example_is_true(
    page: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "models").symlink_to(BUNDLED / "light")
    monkeypatch.chdir(tmp_path)
    run_page(page, capsys)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pictures_and_links_exist(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_reference_of_commands_is_that_of_the_commands() -> None:
    assert command_line.PAGE.read_text() == command_line.page(), "run 'python docs/command_line.py'"


def test_the_read_me_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150


def test_every_built_in_set_is_listed() -> None:
    table = (ROOT / "docs" / "formats.md").read_text().split("## Built-in sets")[1].split("\n## ")[0]
    listed = {name.split(":")[0] for name in re.findall(r"^\| `([\w-]+)", table, re.MULTILINE)}
    assert listed == set(sources)
