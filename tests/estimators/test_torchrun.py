"""`grade fit` started by torchrun: two processes train one model, and one of them writes it."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from scipy.stats import spearmanr

from grade.estimators import fit, load_estimator
from grade.graphs.sample import save_sample
from grade.settings import EstimatorSettings
from tests.estimators.spaces import census_201, uniform_sample

CHANGES = {
    "layers": "1",
    "width": "32",
    "heads": "2",
    "batch": "64",
    "learning_rate": "0.01",
    "warmup": "10",
    "maximum_steps": "80",
    "folds": "1",
    "members": "1",
}
ARGUMENTS = ["fit", "sample", "--device", "cpu", "--json"] + [
    word for name, value in CHANGES.items() for word in ("--set", f"{name}={value}")
]

# What each process runs: the command line, with the model's digest noted for every process.
PROGRAM = """
import hashlib, os, signal, sys, time
from pathlib import Path
import torch
from grade import cli
from grade.estimators import network, phases, training

torch.set_num_threads(1)
training.CHECKPOINT_SECONDS = 0.0
rank = os.environ["RANK"]
fatal = Path(os.environ["FATAL"])
original = network.NetworkEstimator.fit

def fit(self, *arguments, **names):
    if rank == "1":
        # A process that sees another figure on the held-out types must decide like the first all the same.
        likelihood = self.log_likelihood
        self.log_likelihood = lambda *a: likelihood(*a) * (1 + torch.rand(1, dtype=torch.float64))
        time.sleep(0.5)  # let the first process run ahead into whatever race there is
        loss = self.loss
        self.loss = lambda *a: os.kill(os.getpid(), signal.SIGKILL) if fatal.exists() else loss(*a)
    original(self, *arguments, **names)
    digest = hashlib.sha256()
    for member in self.networks:
        for tensor in member.state_dict().values():
            digest.update(tensor.numpy().tobytes())
    Path(f"digest-{rank}").write_text(f"{digest.hexdigest()} {self.fitted['steps']} {self.fitted['held_out']}")

network.NetworkEstimator.fit = fit
written = phases.whole_file

def whole_file(path):
    assert rank == "0", f"process {rank} writes {path}"
    return written(path)

phases.whole_file = training.whole_file = whole_file
sys.argv = ["grade", *sys.argv[1:]]
cli.main()
"""


def torchrun(folder: Path, out: str, fatal: str = "never") -> "subprocess.CompletedProcess[str]":
    """The command in two processes; the second is killed in the first step after a file ``fatal`` is there."""
    (folder / "program.py").write_text(PROGRAM)
    command = [sys.executable, "-m", "torch.distributed.run", "--standalone", "--nproc-per-node", "2"]
    return subprocess.run(
        [*command, "program.py", *ARGUMENTS, "--out", out],
        cwd=folder,
        env={**os.environ, "OMP_NUM_THREADS": "1", "FATAL": fatal},
        capture_output=True,
        text=True,
        timeout=240,
        check=False,
    )


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    save_sample(uniform_sample(*census_201(4), 279, 0), tmp_path / "sample")
    return tmp_path


def test_two_processes_fit_one_model_and_a_killed_fit_goes_on(folder: Path) -> None:
    done = torchrun(folder, "model")
    assert done.returncode == 0, done.stderr
    fitted = json.loads(done.stdout)  # one JSON object: the second process prints nothing
    first, second = ((folder / f"digest-{rank}").read_text() for rank in "01")
    assert first == second
    assert first.split()[1] == str(fitted["steps"])
    assert {path.name for path in folder.iterdir()} == {
        "digest-0",
        "digest-1",
        "model",
        "program.py",
        "sample",
    }

    table, counts = census_201(4)
    frequency = fit(uniform_sample(table, counts, 279, 0), EstimatorSettings(estimator="frequency"))
    model = load_estimator(folder / "model")
    rho, baseline = (spearmanr(m.log_probability(table), counts).statistic for m in (model, frequency))
    assert rho > baseline + 0.2

    work = folder / "again.fitting"
    killed = torchrun(folder, "again", fatal="again.fitting/member-0.checkpoint.safetensors")
    assert killed.returncode != 0
    assert not (folder / "again").exists()
    assert (work / "trial-0.safetensors").exists()
    assert not (work / "member-0.safetensors").exists()
    lines = [json.loads(line) for line in (work / "metrics.jsonl").read_text().splitlines()]
    steps = [(line["phase"], line["step"]) for line in lines]
    assert len(steps) == len(set(steps)) > 0  # one process reports

    for rank in "01":
        (folder / f"digest-{rank}").unlink()
    resumed = torchrun(folder, "again")
    assert resumed.returncode == 0, resumed.stderr
    assert [(folder / f"digest-{rank}").read_text() for rank in "01"] == [first, first]
    assert not work.exists()
    assert (
        load_estimator(folder / "again").log_probability(table).tolist()
        == model.log_probability(table).tolist()
    )
