"""No check is suppressed without a reason beside it."""

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
BARE = re.compile(r"#\s*(noqa(: ?[A-Z0-9, ]+)?|type: ignore(\[[a-z, -]+\])?|pragma: no cover)\s*$")


@pytest.mark.parametrize("folder", ["src", "tests", "benchmarks", "experiments", "docs"])
def test_suppressions_have_reasons(folder: str) -> None:
    bare = [
        f"{path.relative_to(ROOT)}:{number}: {line.strip()}"
        for path in sorted((ROOT / folder).rglob("*.py"))
        for number, line in enumerate(path.read_text().splitlines(), start=1)
        if BARE.search(line)
    ]
    assert bare == []
