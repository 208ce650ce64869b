"""The state of a training on disk: tensors and values in one file with a checksum."""

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np
import torch
from torch import Tensor

from grade.errors import InputError
from grade.sealed import DamagedError, load_arrays, save_arrays

VALUES = "values"  # the array that holds the JSON


@dataclass(frozen=True)
class StateFile:
    """A file that holds a state, and the label that ties it to one training."""

    path: Path
    label: str

    def save(self, tensors: dict[str, Tensor], values: dict[str, Any]) -> None:
        """Write it, whole or not at all."""
        arrays = {name: tensor.detach().cpu().numpy() for name, tensor in tensors.items()}
        text = np.frombuffer(json.dumps(values).encode(), np.uint8)
        save_arrays(self.path, {**arrays, VALUES: text}, self.label)

    def load(self) -> tuple[dict[str, Tensor], dict[str, Any]] | None:
        """What was saved; None where there is no file. One that has changed is refused."""
        try:
            arrays = load_arrays(self.path, self.label)
        except DamagedError as error:
            raise InputError(
                f"{self.path} is damaged, or of another training; remove it to start afresh."
            ) from error
        if arrays is None:
            return None
        values = json.loads(arrays.pop(VALUES).tobytes())
        return {name: torch.from_numpy(array) for name, array in arrays.items()}, values
