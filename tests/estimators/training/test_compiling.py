"""Compiled networks where compilation fails: they work as they are."""

import warnings

import pytest
import torch
import torch._inductor.config as inductor
from torch import nn

from grade.estimators.training.compiling import compiled


def test_a_network_works_without_a_compiler() -> None:
    network = nn.Sequential(nn.Linear(4, 4), nn.GELU()).eval()
    x = torch.linspace(-1, 1, 8).reshape(2, 4)
    with inductor.patch({"cpp.cxx": ("/no/such/compiler",), "force_disable_caches": True}):
        with pytest.warns(UserWarning, match="not compiled and will be slower"):
            first = compiled(network)(x)
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # one warning is enough
            again = compiled(network)(x)
    torch.testing.assert_close(first, network(x), rtol=0, atol=0)
    torch.testing.assert_close(again, first, rtol=0, atol=0)


def test_errors_of_the_network_are_not_hidden() -> None:
    class Broken(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            raise ValueError("its own")

    with pytest.warns(UserWarning, match="not compiled"), pytest.raises(ValueError, match="its own"):
        compiled(Broken())(torch.zeros(1))
