"""The map of the code is true: the files of the walk are those that run, and no two have one name."""

import json
import re
import subprocess
import sys
from collections import Counter
from pathlib import Path

import grade

PACKAGE = Path(grade.__file__).parent
PAGE = Path(__file__).parents[2] / "docs" / "internals.md"
TRACE = """
import inspect, json, sys
from pathlib import Path
import grade
from grade import cli
from grade.cli import app

package, called = Path(grade.__file__).parent, set()

def note(frame, event, _):
    path = Path(frame.f_code.co_filename)
    function = frame.f_code.co_flags & inspect.CO_NEWLOCALS  # neither a module nor the body of a class
    if event == "call" and function and path.is_relative_to(package):
        called.add(path.relative_to(package).with_suffix("").as_posix())

sys.argv[0] = "grade"
sys.setprofile(note)
try:
    cli.main()
except SystemExit as stop:
    sys.setprofile(None)
    assert not stop.code, stop.code
print(json.dumps(sorted(called)))
"""


def listed(after: str) -> list[str]:
    """The files of the first list after these words, two spaces apart; a description follows four or more spaces."""
    lines = PAGE.read_text().split(after, 1)[1].splitlines()
    begin = lines.index("") + 1
    rows = lines[begin : lines.index("", begin)]
    return [name for row in rows for name in re.split(r" {4,}", row.strip())[0].split()]


def test_the_walk_is_that_of_a_run(tmp_path: Path) -> None:
    command = ["mine", "zoo-mini", "-k", "4", "--out", "run"]
    done = subprocess.run(
        [sys.executable, "-c", TRACE, *command], cwd=tmp_path, capture_output=True, text=True, check=True
    )
    called = set(json.loads(done.stdout.splitlines()[-1]))
    walk, helpers = listed("A run calls functions in"), listed("The other ")
    assert len(walk) <= 25
    assert {*walk, *helpers} == called
    assert f"in {len(called)} files of `src/grade/`. These {len(walk)} are the walk" in PAGE.read_text()
    assert f"The other {len(helpers)} " in PAGE.read_text()


def test_no_file_name_occurs_twice() -> None:
    names = Counter(path.name for path in PACKAGE.rglob("*.py") if not path.name.startswith("__"))
    assert [name for name, count in names.items() if count > 1] == []


def test_the_map_names_every_folder() -> None:
    text = PAGE.read_text().split("## The walk", 1)[0]
    folders = {path.parent.name for path in PACKAGE.glob("*/__init__.py")}
    assert {folder for folder in folders if f"{folder}/" not in text} == set()
