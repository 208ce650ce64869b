"""The estimator protocol, the registry of estimators, and how a model is stored.

An estimator learns the distribution of patterns from a sample and gives the log-probability of isomorphism
classes. A new estimator is one new file that registers a class, and a line in `MODULES`.
"""

import json
import shutil
from collections.abc import Sequence
from pathlib import Path
from typing import Any, ClassVar, Protocol

import numpy as np
from numpy.typing import NDArray
from safetensors import SafetensorError
from safetensors.numpy import load_file, save

from grade.errors import DeviceError, InputError
from grade.estimators.reports import FitReport, Report
from grade.files import whole_folder, writable_target
from grade.graphs import PatternTable, SubgraphSample
from grade.registry import Registry
from grade.sealed import damaged_file, write_description
from grade.settings import EstimatorSettings, NetworkSettings

FORMAT = 6
MODEL_FILE, TENSOR_FILE = "model.json", "model.safetensors"

MODULES = {
    "frequency": "grade.estimators.frequency",
    "parts": "grade.estimators.parts_only",
    **{
        name: f"grade.estimators.models.{name}"
        for name in ("autoregressive", "disco", "digress", "defog", "graphvae")
    },
}
"""The module of each estimator, imported when it is first used, since most of them need torch."""

Samples = SubgraphSample | Sequence[SubgraphSample]
"""One sample, or samples of several sizes for one model of them all."""


class Estimator(Protocol):
    """The interface of all estimators."""

    settings_type: ClassVar[type[EstimatorSettings]]
    evaluations: int  # network evaluations that the last `log_probability` took, all patterns together
    fitted: FitReport  # of the last fit

    @property
    def settings(self) -> EstimatorSettings:
        """Those of the last fit."""

    def fit(
        self,
        sample: Samples,
        settings: Any,  # a `settings_type`
        *,
        folder: Path | None = None,
        report: Report | None = None,
    ) -> None:
        """Learn the distribution of the sample. A fit that was killed goes on from the checkpoints in ``folder``."""

    def log_probability(self, patterns: PatternTable) -> NDArray[np.float64]:
        """[n] log-probability of each pattern's isomorphism class among the patterns of its size; always
        finite.
        """

    def describe(self) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
        """The model as values for JSON, and arrays."""

    @classmethod
    def restored(cls, description: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> "Estimator":
        """The model that `describe` described."""

    def save(self, folder: Path) -> None:
        """Write the model as a folder of JSON and safetensors, whole or not at all."""

    @classmethod
    def load(cls, folder: Path) -> "Estimator":
        """Read what `save` wrote."""


estimators: Registry[type[Estimator]] = Registry("estimator", MODULES)


def shown(model: Any) -> str:
    """A model in one line, for its ``repr``."""
    if not hasattr(model, "space"):
        return f"{type(model).__name__}(not fitted)"
    sizes = ", ".join(map(str, model.space.sizes))
    steps = "" if model.fitted.steps is None else f", {model.fitted.steps:,} steps"
    return f"{type(model).__name__}({model.settings.estimator}, k = {sizes}{steps}, {model.fitted.seconds:.1f} s)"


def stored_settings(description: dict[str, Any]) -> EstimatorSettings:
    """The settings of a stored model, by its description."""
    values = description["settings"]
    return estimators[values["estimator"]].settings_type.from_json(values)


def checked(scores: NDArray[np.float64]) -> NDArray[np.float64]:
    """Log-probabilities, -inf among them; refused where one is no number, as under weights beyond all measure."""
    if not (scores < np.inf).all():
        raise InputError("The model gives scores that are not numbers; fit it again with 'grade fit'.")
    return scores


def as_samples(sample: Samples) -> list[SubgraphSample]:
    return [sample] if isinstance(sample, SubgraphSample) else list(sample)


def normalised(sample: SubgraphSample) -> NDArray[np.float64]:
    """[patterns] weights of the patterns that add up to the number of occurrences."""
    weights = sample.weighted_counts
    result: NDArray[np.float64] = weights * (len(sample) / weights.sum())
    return result


def fit(
    sample: Samples,
    settings: EstimatorSettings,
    *,
    folder: Path | None = None,
    report: Report | None = None,
) -> Estimator:
    """A new estimator of the settings' kind, fitted; with ``evidence``, as a posterior with the counts of parts."""
    estimator = estimators[settings.estimator]()
    if isinstance(settings, NetworkSettings) and settings.evidence:
        from grade.estimators.evidence.posterior import Posterior  # which needs this module

        estimator = Posterior(estimator)
    estimator.fit(sample, settings, folder=folder, report=report)
    return estimator


def fit_to_folder(
    sample: Samples, settings: EstimatorSettings, out: Path, report: Report | None = None
) -> Estimator:
    """Fit and store a model. Work in progress is kept beside it, so that the same call after a kill goes on."""
    check_model_target(out)
    work = out.with_name(out.name + ".fitting")
    estimator = fit(sample, settings, folder=work, report=report)
    estimator.save(out)
    shutil.rmtree(work, ignore_errors=True)
    return estimator


def check_model_target(folder: Path) -> None:
    """Refuse to replace anything but a model; worth calling before a long fit."""
    writable_target(folder)
    if (
        folder.exists()
        and not (folder / MODEL_FILE).is_file()
        and (not folder.is_dir() or any(folder.iterdir()))
    ):
        raise InputError(f"{folder} exists and is no model; choose another folder for the model.")


def write_model(folder: Path, description: dict[str, Any], tensors: dict[str, NDArray[Any]]) -> None:
    """Store a model; an existing model is replaced, any other folder is left alone."""
    check_model_target(folder)
    with whole_folder(folder) as temporary:
        content = save({name: np.ascontiguousarray(array) for name, array in tensors.items()})
        (temporary / TENSOR_FILE).write_bytes(content)  # which says that a disk is full as all do
        write_description(temporary, MODEL_FILE, {"format": FORMAT, **description})


def read_model(folder: Path) -> tuple[dict[str, Any], dict[str, NDArray[Any]]]:
    """The description and the tensors that `write_model` stored."""
    if not (folder / MODEL_FILE).is_file():
        raise InputError(f"{folder} is no model: it has no {MODEL_FILE}; make one with 'grade fit'.")
    try:
        description = json.loads((folder / MODEL_FILE).read_text())
        version = description["format"]
        if version == FORMAT:
            if file := damaged_file(folder, MODEL_FILE, description):
                raise InputError(f"The model {folder} is damaged ({file}); fit it again with 'grade fit'.")
            tensors = load_file(folder / TENSOR_FILE)
            if not all(np.isfinite(tensor).all() for tensor in tensors.values()):
                raise InputError(
                    f"The model {folder} has weights that are not finite numbers; fit it again with 'grade fit'."
                )
            return description, tensors
    except InputError:
        raise
    except (OSError, ValueError, KeyError, TypeError, RecursionError, SafetensorError) as error:
        raise InputError(f"The model {folder} is damaged; fit it again with 'grade fit'.") from error
    raise InputError(
        f"The model {folder} has format {version}, and this version of GraDE reads format {FORMAT}; fit it again with"
        " 'grade fit'."
    )


def load_estimator(folder: str | Path) -> Estimator:
    """The model that is stored in a folder, whatever its kind."""
    description, _ = read_model(Path(folder))
    try:
        if description.get("posterior"):
            from grade.estimators.evidence.posterior import Posterior

            return Posterior.load(Path(folder))
        return estimators[description["settings"]["estimator"]].load(Path(folder))
    except (KeyError, TypeError, RuntimeError) as error:
        if "CUDA" in str(error):  # torch has no class of its own for them before version 2.8
            reason = str(error).splitlines()[0]
            raise DeviceError(f"The model {folder} cannot be moved to the GPU ({reason}).") from error
        raise InputError(f"The model {folder} is damaged; fit it again with 'grade fit'.") from error
