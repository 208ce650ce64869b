"""Modules whose operators are known by construction, and makers of them for the command line."""

import os
import time
from collections import Counter
from typing import Any

import torch
from torch import nn


class ResidualBlock(nn.Module):
    """conv -> batch norm -> relu -> conv -> batch norm -> + input -> relu, as in ResNet-18."""

    def __init__(self, width: int, inplace: bool) -> None:
        super().__init__()
        self.conv1, self.conv2 = (nn.Conv2d(width, width, 3, padding=1, bias=False) for _ in range(2))
        self.bn1, self.bn2 = nn.BatchNorm2d(width), nn.BatchNorm2d(width)
        self.relu = nn.ReLU(inplace=inplace)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = self.bn2(self.conv2(self.relu(self.bn1(self.conv1(x)))))
        if self.relu.inplace:
            y += x
            return self.relu(y)
        return self.relu(y + x)


class SmallResNet(nn.Module):
    """A stem, a stack of residual blocks, pooling and a classifier."""

    def __init__(self, blocks: int = 4, inplace: bool = False) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3)
        self.blocks = nn.Sequential(*(ResidualBlock(8, inplace) for _ in range(blocks)))
        self.head = nn.Linear(8, 10)

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        return self.head(self.blocks(self.stem(x)).mean((2, 3)))


class Writing(nn.Module):
    """Writes in place, once through a view, and ignores what the writing operators return."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        y = torch.sin(x)
        y.relu_()
        part = y[:, 0]
        part.exp_()
        return torch.tanh(y)


class Branching(nn.Module):
    """torch.cond over two results of one operator."""

    def forward(self, x: torch.Tensor) -> torch.Tensor:
        left, right = x.chunk(2, 1)
        return torch.cond(
            x.sum() > 0, lambda a, b: torch.tanh(a) + b, lambda a, b: torch.exp(a) - b, (left, right)
        )


OPERATORS = {
    nn.Conv1d: "aten.conv1d",
    nn.Conv2d: "aten.conv2d",
    nn.ConvTranspose2d: "aten.conv_transpose2d",
    nn.Linear: "aten.linear",
    nn.BatchNorm1d: "aten.batch_norm",
    nn.BatchNorm2d: "aten.batch_norm",
    nn.LayerNorm: "aten.layer_norm",
    nn.GroupNorm: "aten.group_norm",
    nn.Embedding: "aten.embedding",
    nn.GELU: "aten.gelu",
    nn.SiLU: "aten.silu",
    nn.MaxPool2d: "aten.max_pool2d",
    nn.LSTM: "aten.lstm",
    nn.GRU: "aten.gru",
}


def called_operators(module: nn.Module, *arguments: Any, **keywords: Any) -> Counter[str]:
    """How often the module calls each of the layers above, counted by hooks while it runs (on any device)."""
    counts: Counter[str] = Counter()
    hooks = []
    for part in module.modules():
        kind = next((OPERATORS[base] for base in type(part).__mro__ if base in OPERATORS), None)
        if kind is not None:
            hooks.append(part.register_forward_hook(lambda *_, kind=kind: counts.update([kind])))
    with torch.no_grad():
        module(*arguments, **keywords)
    for hook in hooks:
        hook.remove()
    return counts


def resnet() -> Any:
    return SmallResNet(), (torch.empty(1, 3, 32, 32),)


def huge() -> Any:
    """A terabyte of weights, were it not for the meta device."""
    return nn.Linear(1 << 19, 1 << 19).eval(), (torch.empty(1, 1 << 19),)


def no_arguments() -> Any:
    return SmallResNet()


def sleeping() -> Any:
    time.sleep(600)


def hungry() -> Any:
    return bytearray(1 << 36)


def crashing() -> Any:
    os.abort()


def raising() -> Any:
    raise KeyError("no such\nthing")


AT_IMPORT = nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU()), torch.rand(1, 3, 8, 8)


def made_later() -> Any:
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU()), (torch.rand(1, 3, 8, 8),)


def module_of_import() -> Any:
    return AT_IMPORT[0], (torch.rand(1, 3, 8, 8),)


def arguments_of_import() -> Any:
    return nn.Sequential(nn.Conv2d(3, 4, 3), nn.BatchNorm2d(4), nn.ReLU()), (AT_IMPORT[1],)


def both_of_import() -> Any:
    return AT_IMPORT[0], (AT_IMPORT[1],)
