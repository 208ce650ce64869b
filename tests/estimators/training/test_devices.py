"""Devices that cannot be used are refused with a remedy."""

import pytest
import torch

from grade.errors import InputError
from grade.estimators.training.devices import pick_device


def test_the_device_of_this_machine() -> None:
    assert pick_device("cpu") == torch.device("cpu")
    assert pick_device("auto").type == ("cuda" if torch.cuda.is_available() else "cpu")


@pytest.mark.parametrize("name", ["meta", "mps", "nonsense", "cuda:nonsense"])
def test_other_devices_are_refused(name: str) -> None:
    with pytest.raises(InputError, match=f"The device '{name}' cannot be used .*; give cpu"):
        pick_device(name)


@pytest.mark.skipif(torch.cuda.is_available(), reason="there is a GPU")
@pytest.mark.parametrize("name", ["cuda", "cuda:3"])
def test_without_a_gpu_cuda_is_no_remedy(name: str) -> None:
    with pytest.raises(InputError) as refusal:
        pick_device(name)
    assert (
        str(refusal.value) == f"The device {name!r} cannot be used (torch has no such device here); give cpu."
    )
