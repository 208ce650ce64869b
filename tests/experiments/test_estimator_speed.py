"""The reduced run of the speed experiment: every stage reports, in both files."""

import json
import os
import subprocess
import sys
from pathlib import Path

SCRIPT = Path(__file__).parents[2] / "experiments" / "estimator_speed" / "run.py"


def test_a_quick_run_measures_every_stage(tmp_path: Path) -> None:
    environment = {**os.environ, "OMP_NUM_THREADS": "1"}
    subprocess.run([sys.executable, SCRIPT, "--quick", "--out", tmp_path], check=True, env=environment)
    results = json.loads((tmp_path / "results.json").read_text())
    assert set(results["scoring"]) == {"autoregressive", "paper 10 x 4", "bridge 4 x 4", "bridge 2 x 2"}
    evaluations = {name: values["evaluations_per_candidate"] for name, values in results["scoring"].items()}
    assert (evaluations["paper 10 x 4"], evaluations["bridge 4 x 4"], evaluations["bridge 2 x 2"]) == (
        40,
        16,
        4,
    )
    assert len(results["training"]) == 3
    page = (tmp_path / "results.md").read_text()
    assert all(f"| {name} |" in page for name in [*results["training"], *results["scoring"]])
