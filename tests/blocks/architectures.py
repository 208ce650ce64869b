"""ResNet-50, ViT-B and a GPT in plain PyTorch, with the structure of the papers and few channels."""

from typing import Any

import torch
from torch import Tensor, nn


class Bottleneck(nn.Module):
    def __init__(self, channels: int, width: int, stride: int) -> None:
        super().__init__()
        out = 4 * width
        self.first = nn.Sequential(
            nn.Conv2d(channels, width, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU()
        )
        self.second = nn.Sequential(
            nn.Conv2d(width, width, 3, stride, 1, bias=False), nn.BatchNorm2d(width), nn.ReLU()
        )
        self.third = nn.Sequential(nn.Conv2d(width, out, 1, bias=False), nn.BatchNorm2d(out))
        self.shortcut: nn.Module = nn.Identity()
        if stride != 1 or channels != out:
            self.shortcut = nn.Sequential(
                nn.Conv2d(channels, out, 1, stride, bias=False), nn.BatchNorm2d(out)
            )

    def forward(self, x: Tensor) -> Tensor:
        return torch.relu(self.third(self.second(self.first(x))) + self.shortcut(x))


class ResNet50(nn.Module):
    """Stages of 3, 4, 6 and 3 bottlenecks, the first of each with a convolution in the shortcut."""

    def __init__(self, width: int = 4) -> None:
        super().__init__()
        self.stem = nn.Sequential(
            nn.Conv2d(3, width, 7, 2, 3, bias=False), nn.BatchNorm2d(width), nn.ReLU(), nn.MaxPool2d(3, 2, 1)
        )
        blocks, channels = [], width
        for stage, count in enumerate((3, 4, 6, 3)):
            for i in range(count):
                blocks.append(Bottleneck(channels, width << stage, 2 if i == 0 and stage else 1))
                channels = 4 * (width << stage)
        self.blocks = nn.Sequential(*blocks)
        self.head = nn.Linear(channels, 10)

    def forward(self, x: Tensor) -> Tensor:
        return self.head(self.blocks(self.stem(x)).mean((2, 3)))


class Attention(nn.Module):
    def __init__(self, width: int, heads: int, causal: bool) -> None:
        super().__init__()
        self.heads, self.causal = heads, causal
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)

    def forward(self, x: Tensor, mask: Tensor | None) -> Tensor:
        batch, length, width = x.shape
        shape = (batch, length, self.heads, width // self.heads)
        q, k, v = (part.reshape(shape).transpose(1, 2) for part in self.qkv(x).split(width, 2))
        scores = q @ k.transpose(2, 3) * shape[-1] ** -0.5
        if mask is not None:
            scores = scores.masked_fill(mask, float("-inf"))
        return self.out((scores.softmax(3) @ v).transpose(1, 2).reshape(batch, length, width))


class Layer(nn.Module):
    """Attention and a network of two layers, each after a norm and beside a shortcut."""

    def __init__(self, width: int, heads: int, causal: bool) -> None:
        super().__init__()
        self.norms = nn.ModuleList([nn.LayerNorm(width), nn.LayerNorm(width)])
        self.attention = Attention(width, heads, causal)
        self.mlp = nn.Sequential(nn.Linear(width, 4 * width), nn.GELU(), nn.Linear(4 * width, width))

    def forward(self, x: Tensor, mask: Tensor | None = None) -> Tensor:
        x = x + self.attention(self.norms[0](x), mask)
        return x + self.mlp(self.norms[1](x))


class VisionTransformer(nn.Module):
    """ViT-B: 12 encoder layers of 12 heads."""

    def __init__(self, width: int = 24, layers: int = 12) -> None:
        super().__init__()
        self.patches = nn.Conv2d(3, width, 16, 16)
        self.token = nn.Parameter(torch.zeros(1, 1, width))
        self.places = nn.Parameter(torch.zeros(1, 5, width))
        self.layers = nn.ModuleList(Layer(width, 12, False) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 10)

    def forward(self, x: Tensor) -> Tensor:
        x = self.patches(x).flatten(2).transpose(1, 2)
        x = torch.cat([self.token.expand(len(x), -1, -1), x], 1) + self.places
        for layer in self.layers:
            x = layer(x)
        return self.head(self.norm(x)[:, 0])


class Gpt(nn.Module):
    """Layers that share a causal mask, which the model computes once."""

    def __init__(self, width: int = 16, layers: int = 7) -> None:
        super().__init__()
        self.words, self.places = nn.Embedding(50, width), nn.Embedding(8, width)
        self.layers = nn.ModuleList(Layer(width, 4, True) for _ in range(layers))
        self.norm, self.head = nn.LayerNorm(width), nn.Linear(width, 50, bias=False)

    def forward(self, ids: Tensor) -> Tensor:
        length = ids.shape[1]
        mask = torch.ones(length, length).tril().eq(0)
        x = self.words(ids) + self.places(torch.arange(length))
        for layer in self.layers:
            x = layer(x, mask)
        return self.head(self.norm(x))


IMAGE = torch.zeros(1, 3, 32, 32)
MODELS: dict[str, Any] = {
    "resnet-50": lambda: (ResNet50().eval(), (IMAGE,)),
    "vit-b": lambda: (VisionTransformer().eval(), (IMAGE,)),
    "gpt": lambda: (Gpt().eval(), (torch.zeros(1, 6, dtype=torch.long),)),
}
