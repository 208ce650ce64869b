"""Networks of published designs, defined here and exported as ONNX files: models of this kind without a download."""

import warnings
from pathlib import Path

import torch
from torch import nn
from torch.nn import functional


class Attention(nn.Module):
    """A transformer block (Vaswani et al. 2017), normalised first, over embedded tokens."""

    def __init__(self) -> None:
        super().__init__()
        self.embed, self.place = nn.Embedding(50, 32), nn.Parameter(torch.randn(1, 12, 32))
        self.norms = nn.ModuleList(nn.LayerNorm(32) for _ in range(3))
        self.query, self.key, self.value, self.out = (nn.Linear(32, 32) for _ in range(4))
        self.widen, self.narrow, self.head = nn.Linear(32, 64), nn.Linear(64, 32), nn.Linear(32, 5)

    def forward(self, tokens: torch.Tensor) -> torch.Tensor:
        x = self.embed(tokens) + self.place
        y = self.norms[0](x)
        heads = [part(y).reshape(1, 12, 4, 8).transpose(1, 2) for part in (self.query, self.key, self.value)]
        weights = torch.softmax(heads[0] @ heads[1].transpose(2, 3) / 8**0.5, dim=-1)
        x = x + self.out((weights @ heads[2]).transpose(1, 2).reshape(1, 12, 32))
        x = x + self.narrow(functional.gelu(self.widen(self.norms[1](x))))
        return self.head(self.norms[2](x).mean(dim=1))


class Inverted(nn.Module):
    """Two inverted residuals with squeeze and excitation (Howard et al. 2019)."""

    def __init__(self) -> None:
        super().__init__()
        self.stem = nn.Conv2d(3, 8, 3, stride=2, padding=1)
        self.widen, self.narrow = nn.Conv2d(8, 24, 1), nn.Conv2d(24, 8, 1)
        self.depthwise = nn.Conv2d(24, 24, 5, padding=2, groups=24)
        self.squeeze, self.excite = nn.Conv2d(24, 6, 1), nn.Conv2d(6, 24, 1)
        self.head = nn.Linear(8, 10)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        x = functional.hardswish(self.stem(image))
        for _ in range(2):
            y = functional.hardswish(self.depthwise(functional.relu(self.widen(x))))
            gate = functional.hardsigmoid(
                self.excite(functional.relu(self.squeeze(y.mean((2, 3), keepdim=True))))
            )
            x = x + self.narrow(y * gate)
        return self.head(functional.adaptive_avg_pool2d(x, 1).flatten(1))


class Hourglass(nn.Module):
    """Down and up again with a way across (Ronneberger, Fischer and Brox 2015)."""

    def __init__(self) -> None:
        super().__init__()
        self.first, self.deep = nn.Conv2d(1, 8, 3, padding=1), nn.Conv2d(8, 16, 3, padding=1)
        self.up, self.last = nn.ConvTranspose2d(16, 8, 2, stride=2), nn.Conv2d(16, 2, 3, padding=1)

    def forward(self, image: torch.Tensor) -> torch.Tensor:
        x = functional.leaky_relu(self.first(image), 0.1)
        y = functional.elu(self.deep(functional.max_pool2d(x, 2)))
        z = torch.cat([x, functional.relu(self.up(y))], dim=1)
        return torch.sigmoid(self.last(z)) * functional.avg_pool2d(image, 3, stride=1, padding=1)


INPUTS = {
    Attention: lambda: torch.randint(0, 50, (1, 12)),
    Inverted: lambda: torch.randn(1, 3, 32, 32),
    Hourglass: lambda: torch.randn(1, 1, 16, 16),
}


def export_all(folder: Path) -> list[Path]:
    """The ONNX file of each network, with random weights."""
    torch.manual_seed(1)
    made = []
    for network, inputs in INPUTS.items():
        made.append(folder / f"{network.__name__.lower()}.onnx")
        with warnings.catch_warnings():  # the exporter that needs no other package is deprecated
            warnings.simplefilter("ignore")
            torch.onnx.export(network().eval(), (inputs(),), made[-1], dynamo=False)
    return made
