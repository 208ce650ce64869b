import doctest
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
DOCS = ROOT / "docs"


def test_the_walk_through_python_is_true() -> None:
    pytest.importorskip("pyarrow", reason="pyarrow is not installed")
    failed, tried = doctest.testfile(str(DOCS / "python.md"), module_relative=False)
    assert failed == 0
    assert tried > 15


def test_pictures_and_links_exist() -> None:
    pages = [ROOT / "README.md", *DOCS.glob("*.md")]
    for page in pages:
        for target in re.findall(r"\]\(([^)#:]+)\)", page.read_text()):
            assert (page.parent / target).exists(), f"{page.name} links to {target}"
