import re
import shlex
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import typer

from grade.cli import app
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
    (tmp_path / "model.onnx").symlink_to(BUNDLED / "light" / "light_inception_v1.onnx")
    monkeypatch.chdir(tmp_path)
    run_page(page, capsys)


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.name)
def test_pictures_and_links_exist(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#:]+)(?:#[^)]*)?\)", page.read_text()):
        assert (page.parent / target).exists(), f"{page.name} links to {target}"


def test_the_reference_of_commands_is_that_of_the_commands() -> None:
    assert command_line.PAGE.read_text() == command_line.page(), "run 'python docs/command_line.py'"


EXAMPLES = [line for line in command_line.PAGE.read_text().splitlines() if line.startswith("grade ")]


@pytest.mark.parametrize("line", EXAMPLES)
def test_every_example_of_the_reference_is_understood(line: str) -> None:
    """Many of them take minutes or name files of the reader, so they are parsed and not run."""
    command: Any = typer.main.get_command(app)
    words = shlex.split(line)
    while hasattr(command, "commands"):
        words = words[1:]
        command = command.commands[words[0]]
    command.make_context(words[0], words[1:])


def test_the_read_me_is_short() -> None:
    assert len((ROOT / "README.md").read_text().splitlines()) <= 150


def test_the_read_me_lists_every_dependency() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text())
    extras = project["project"]["optional-dependencies"]
    needed = [*project["project"]["dependencies"], *project["build-system"]["requires"]]
    needed += [one for name, packages in extras.items() if name != "dev" for one in packages]
    table = (ROOT / "README.md").read_text().split("## Dependencies")[1].split("\n## ")[0]
    listed = "".join(line.split("|")[1] for line in table.splitlines() if line.startswith("|"))
    assert [name for name in needed if re.match(r"[\w-]+", name)[0] not in listed] == []
    assert [
        name for name in extras if name != "dev" and f"`{name}`" not in listed and name not in listed
    ] == []


def test_every_built_in_set_is_listed() -> None:
    table = (ROOT / "docs" / "formats.md").read_text().split("## Built-in sets")[1].split("\n## ")[0]
    listed = {name.split(":")[0] for name in re.findall(r"^\| `([\w-]+)", table, re.MULTILINE)}
    assert listed == set(sources)


# Deleted since version 0.1; the pages name the commit that holds them.
OF_0_1 = {
    "experiments/accuracy/run.py",
    "experiments/accuracy/mixtures.py",
    "experiments/accuracy/compare.py",
    "experiments/estimator_speed/noise.py",
}
PATH = re.compile(r"\b(?:benchmarks|docs|experiments|native|src|tests)/[\w./-]*\w\b(?!\*)")


@pytest.mark.parametrize(
    "place",
    ["README.md", "CONTRIBUTING.md", "SECURITY.md", "Makefile", "docs", "experiments", "native", "src"],
)
def test_every_file_that_is_named_exists(place: str) -> None:
    texts = [ROOT / place] if (ROOT / place).is_file() else sorted((ROOT / place).rglob("*.*"))
    missing = {
        (text.relative_to(ROOT).as_posix(), name)
        for text in texts
        if text.suffix in ("", ".cpp", ".hpp", ".md", ".py")
        for name in PATH.findall(text.read_text())
        if not (ROOT / name).exists() and name not in OF_0_1 and "my_" not in name
    }
    assert missing == set()
