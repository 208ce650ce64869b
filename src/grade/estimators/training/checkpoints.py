"""The trainings of one fit, kept in a folder so that a fit that was killed goes on."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

from torch import nn

from grade.errors import InputError
from grade.estimators.reports import Report
from grade.estimators.training.loop import MetricsFile, Trained
from grade.estimators.training.state_file import StateFile
from grade.files import whole_file
from grade.graphs import SubgraphSample
from grade.settings import EstimatorSettings

FORMAT = 2  # of the files


class Checkpoints:
    """The trainings of one fit in its folder: finished ones are kept, the running one has a checkpoint."""

    def __init__(
        self,
        folder: Path | None,
        settings: EstimatorSettings,
        samples: list[SubgraphSample],
        report: Report | None,
    ) -> None:
        self.folder, self.then = folder, report
        if folder is None:
            return
        digest = hashlib.sha256(f"{FORMAT} {json.dumps(settings.to_json())}".encode())
        for sample in samples:
            digest.update(sample.patterns.keys.tobytes() + sample.weighted_counts.tobytes())
        mark = folder / "fit.txt"
        folder.mkdir(exist_ok=True)
        if not mark.exists():
            with whole_file(mark) as temporary:
                temporary.write_text(digest.hexdigest())
        self.fit = digest.hexdigest()
        if mark.read_bytes() != self.fit.encode():
            raise InputError(
                f"{folder} belongs to another fit (other sample or settings); remove it to start afresh."
            )

    def file(self, name: str) -> StateFile | None:
        """A file of this fit: the result of a training, or the checkpoint of one that is not finished."""
        return None if self.folder is None else StateFile(self.folder / name, f"{self.fit}/{name}")

    def checkpoint(self, phase: str) -> StateFile | None:
        return self.file(f"{phase}.checkpoint.npz")

    def report(self, phase: str) -> Report | None:
        if self.folder is not None:
            return MetricsFile(self.folder / "metrics.jsonl", phase, self.then)
        return self.then

    def save(self, phase: str, trained: Trained) -> None:
        result, checkpoint = self.file(f"{phase}.npz"), self.checkpoint(phase)
        if result is None or checkpoint is None:
            return
        values = {"step": trained.step, "value": trained.value, "history": trained.history}
        result.save(trained.network.state_dict(), values)
        checkpoint.path.unlink(missing_ok=True)

    def load(self, phase: str, build: Callable[[], nn.Module]) -> Trained | None:
        """The result of a training that is finished; None where it is not."""
        result = self.file(f"{phase}.npz")
        saved = None if result is None else result.load()
        if saved is None:
            return None
        tensors, values = saved
        network = build()
        network.load_state_dict(tensors)
        return Trained(network, values["step"], values["value"], [(s, v) for s, v in values["history"]])
