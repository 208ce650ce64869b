"""The trainings of one fit, kept in a folder so that a fit that was killed goes on."""

import hashlib
import json
from collections.abc import Callable
from pathlib import Path

from safetensors.torch import load_file, save_file
from torch import nn

from grade.errors import InputError
from grade.estimators.reports import Report
from grade.estimators.training.loop import MetricsFile, Trained
from grade.files import whole_file
from grade.graphs import SubgraphSample
from grade.settings import EstimatorSettings


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
        digest = hashlib.sha256(json.dumps(settings.to_json()).encode())
        for sample in samples:
            digest.update(sample.patterns.keys.tobytes() + sample.weighted_counts.tobytes())
        mark = folder / "fit.txt"
        folder.mkdir(exist_ok=True)
        if not mark.exists():
            with whole_file(mark) as temporary:
                temporary.write_text(digest.hexdigest())
        if mark.read_text() != digest.hexdigest():
            raise InputError(
                f"{folder} belongs to another fit (other sample or settings); remove it to start afresh."
            )

    def checkpoint(self, phase: str) -> Path | None:
        return None if self.folder is None else self.folder / f"{phase}.checkpoint.safetensors"

    def report(self, phase: str) -> Report | None:
        if self.folder is not None:
            return MetricsFile(self.folder / "metrics.jsonl", phase, self.then)
        return self.then

    def finished(self, phase: str) -> bool:
        return self.folder is not None and (self.folder / f"{phase}.json").exists()

    def save(self, phase: str, trained: Trained) -> None:
        checkpoint = self.checkpoint(phase)
        if checkpoint is None:
            return
        state = {"step": trained.step, "value": trained.value, "history": trained.history}
        with whole_file(checkpoint.with_name(f"{phase}.safetensors")) as temporary:
            tensors = {name: t.cpu().contiguous() for name, t in trained.network.state_dict().items()}
            save_file(tensors, temporary)
        with whole_file(checkpoint.with_name(f"{phase}.json")) as temporary:
            temporary.write_text(json.dumps(state))
        checkpoint.unlink(missing_ok=True)

    def load(self, phase: str, build: Callable[[], nn.Module]) -> Trained | None:
        if self.folder is None or not self.finished(phase):
            return None
        state = json.loads((self.folder / f"{phase}.json").read_text())
        network = build()
        network.load_state_dict(load_file(self.folder / f"{phase}.safetensors"))
        return Trained(network, state["step"], state["value"], [(s, v) for s, v in state["history"]])
