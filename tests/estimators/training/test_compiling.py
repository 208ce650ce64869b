"""Compiled networks, without a compiler: torch's is replaced by stand-ins."""

from typing import Any

import pytest
import torch
from torch import nn

from grade.estimators.training.compiling import compiled, try_compile


def test_a_network_is_compiled_once(monkeypatch: pytest.MonkeyPatch) -> None:
    made: list[nn.Module] = []

    def compiler(network: nn.Module) -> Any:
        made.append(network)
        return lambda x: network(x) + 100

    monkeypatch.setattr(torch, "compile", compiler)
    network = nn.Identity()
    for _ in range(2):
        assert float(compiled(network)(torch.tensor(1.0))) == 101
    assert made == [network]


def test_what_cannot_be_compiled_works_as_it_is(monkeypatch: pytest.MonkeyPatch) -> None:
    tried = 0

    def fails_when_called(network: nn.Module) -> Any:
        def call(x: torch.Tensor) -> torch.Tensor:
            nonlocal tried
            tried += 1
            raise RuntimeError("no compiler")

        return call

    monkeypatch.setattr(torch, "compile", fails_when_called)
    network = nn.Identity()
    for value in (1.0, 2.0):
        assert float(compiled(network)(torch.tensor(value))) == value
    assert tried == 1

    def refuses(network: nn.Module) -> Any:
        raise RuntimeError("unknown version of Python")

    monkeypatch.setattr(torch, "compile", refuses)
    assert try_compile(network) is network


def test_the_networks_own_errors_are_not_hidden(monkeypatch: pytest.MonkeyPatch) -> None:
    class Broken(nn.Module):
        def forward(self, x: torch.Tensor) -> torch.Tensor:
            raise ValueError("its own")

    monkeypatch.setattr(torch, "compile", lambda network: network)
    with pytest.raises(ValueError, match="its own"):
        compiled(Broken())(torch.zeros(1))
