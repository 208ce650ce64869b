import doctest
import re
from pathlib import Path

from grade.sources import sources

README = Path(__file__).parents[1] / "README.md"


def test_the_examples_are_true() -> None:
    failed, tried = doctest.testfile(str(README), module_relative=False)
    assert failed == 0
    assert tried > 10


def test_every_built_in_set_is_listed() -> None:
    table = README.read_text().split("or one of:")[1].split("\n## ")[0]
    listed = {name.split(":")[0] for name in re.findall(r"`([\w-]+(?::[A-Z.:]+)?)`", table.split("\n\n")[1])}
    assert listed == set(sources)
