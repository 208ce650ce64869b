"""What the tests of the accuracy experiment share."""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

FOLDER = Path(__file__).parents[2] / "experiments" / "accuracy"


def start(script: str, *arguments: object) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, str(FOLDER / script), *map(str, arguments)]
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    return subprocess.run(command, env=environment, capture_output=True, text=True)


def read_lines(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text().splitlines()]


def scorings(folder: Path, estimator: str, variant: str) -> dict[str, dict[str, Any]]:
    """Those of the one training with seed 0 on the Rand-ESU sample of the tables."""
    wanted = (estimator, variant, "rand-esu", 0, 0.1)
    names = ("estimator", "variant", "sampler", "seed", "density")
    (result,) = [r for r in read_lines(folder / "cells.jsonl") if tuple(r[name] for name in names) == wanted]
    found: dict[str, dict[str, Any]] = result["scorings"]
    return found
