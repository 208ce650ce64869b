"""Operators with weights as the modules of `torch.nn` that people use for them: Conv2d, Linear, LayerNorm, ...

A layer is described for every occurrence of its block. Numbers that differ between occurrences become arguments of the
block's constructor.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from grade.export.operator_call import short

Shape = list[int]

PLAIN = ("NOTSET", "VALID")  # values of auto_pad under which the pads are those that are given
USUAL: dict[str, Any] = {
    "stride": 1, "padding": 0, "dilation": 1, "groups": 1, "output_padding": 0, "bias": True, "eps": "1e-05",
    "ceil_mode": False, "count_include_pad": True,
}  # fmt: skip


@dataclass(frozen=True)
class Use:
    """An operator at one occurrence, as far as a layer depends on it."""

    attributes: dict[str, Any]
    shapes: list[Shape | None]  # of the weights among the operands; None for other operands
    kinds: list[str]  # their dtypes, as PyTorch says them
    rank: int | None  # of the first operand


@dataclass(frozen=True)
class Spec:
    """A module of torch.nn: ``name(*sizes, **options)``."""

    name: str
    sizes: list[int]
    options: dict[str, Any] = field(default_factory=dict)
    weights: dict[str, int] = field(default_factory=dict)  # parameter -> operand
    transposed: tuple[str, ...] = ()  # parameters that PyTorch keeps the other way round


def layer_specs(kind: str, uses: Sequence[Use]) -> list[Spec] | None:
    """The layer at every occurrence, or None where it is not the same module with the same weights everywhere."""
    maker = LAYERS.get(kind)
    specs = [maker(use) for use in uses] if maker else [None]
    known = [spec for spec in specs if spec is not None]
    if len(known) < len(specs):
        return None
    kinds = {(spec.name, tuple(spec.weights.items()), spec.transposed, len(spec.sizes)) for spec in known}
    return known if len(kinds) == 1 else None


def one_number(values: Sequence[int]) -> Any:
    """A number where all are equal, a tuple otherwise.

    >>> one_number([3, 3]), one_number([1, 3])
    (3, (1, 3))
    """
    return values[0] if len(set(values)) == 1 else tuple(values)


def kind_option(use: Use, weights: dict[str, int]) -> dict[str, Any] | None:
    """The option for weights of another type than float32; None where a layer cannot have them."""
    kinds = {use.kinds[place] for place in weights.values()}
    if len(kinds) != 1 or not kinds <= {"torch.float32", "torch.float64", "torch.float16", "torch.bfloat16"}:
        return None
    kind = kinds.pop()
    return {} if kind == "torch.float32" else {"dtype": Literal(kind)}


class Literal(str):
    """Source text among options."""

    def __repr__(self) -> str:
        return str(self)


def has(use: Use, place: int) -> bool:
    return place < len(use.shapes) and use.shapes[place] is not None


def absent(use: Use, place: int) -> bool:
    return place >= len(use.kinds) or use.kinds[place] == ""


def window(use: Use, shape: Shape) -> dict[str, Any] | None:
    """Stride, padding, dilation and groups of a convolution; None where PyTorch's layer cannot say them."""
    rank = len(shape) - 2
    get = use.attributes.get
    pads = list(get("pads", [0] * 2 * rank))
    if not 1 <= rank <= 3 or get("auto_pad", "NOTSET") not in PLAIN or pads[:rank] != pads[rank:]:
        return None
    return {
        "kernel_size": one_number(shape[2:]),
        "stride": one_number(list(get("strides", [1] * rank))),
        "padding": one_number(pads[:rank]),
        "dilation": one_number(list(get("dilations", [1] * rank))),
        "groups": get("group", 1),
    }


def window_spec(kind: str, use: Use) -> Spec | None:
    """The function for a convolution whose weights are computed."""
    kernel = list(use.attributes.get("kernel_shape", []))
    options = window(use, [0, 0, *kernel]) if kernel else None
    if kind not in ("Conv", "ConvTranspose") or options is None or "output_shape" in use.attributes:
        return None
    if kind == "ConvTranspose":
        options["output_padding"] = one_number(list(use.attributes.get("output_padding", [0])))
    del options["kernel_size"]
    return Spec(f"F.conv{'_transpose' if kind == 'ConvTranspose' else ''}{len(kernel)}d", [], options)


def convolution(use: Use, transposed: bool = False) -> Spec | None:
    if not has(use, 1) or not (has(use, 2) or absent(use, 2)):
        return None
    shape: Shape = use.shapes[1] or []
    weights = {"weight": 1, "bias": 2} if has(use, 2) else {"weight": 1}
    kind, options = kind_option(use, weights), window(use, shape)
    if kind is None or options is None:
        return None
    groups = use.attributes.get("group", 1)
    inputs, outputs = (shape[0], shape[1] * groups) if transposed else (shape[1] * groups, shape[0])
    if transposed:
        if "output_shape" in use.attributes:
            return None
        options["output_padding"] = one_number(list(use.attributes.get("output_padding", [0])))
    options |= {"bias": "bias" in weights, **kind}
    name = f"nn.Conv{'Transpose' if transposed else ''}{len(shape) - 2}d"
    return Spec(name, [inputs, outputs], options, weights)


def batch_norm(use: Use) -> Spec | None:
    weights = {"weight": 1, "bias": 2, "running_mean": 3, "running_var": 4}
    kind = kind_option(use, weights) if all(has(use, place) for place in weights.values()) else None
    if kind is None or use.rank not in (2, 3, 4, 5) or use.attributes.get("training_mode", 0):
        return None
    return Spec(
        f"nn.BatchNorm{max(use.rank - 2, 1)}d", [(use.shapes[1] or [0])[0]], epsilon(use) | kind, weights
    )


def layer_norm(use: Use) -> Spec | None:
    if not has(use, 1) or not (has(use, 2) or absent(use, 2)) or use.attributes.get("axis", -1) != -1:
        return None
    shape = use.shapes[1] or []
    weights = {"weight": 1, "bias": 2} if has(use, 2) else {"weight": 1}
    kind = kind_option(use, weights)
    if kind is None or len(shape) != 1 or any(use.shapes[place] != shape for place in weights.values()):
        return None
    return Spec("nn.LayerNorm", shape, {**epsilon(use), "bias": "bias" in weights, **kind}, weights)


def epsilon(use: Use) -> dict[str, Any]:
    return {"eps": Literal(short(use.attributes.get("epsilon", 1e-5)))}


def linear(use: Use, product: int = 1, bias: int | None = 2) -> Spec | None:
    """A product with a matrix of weights, and a bias beside it."""
    shape = use.shapes[product] if product < len(use.shapes) else None
    if shape is None or len(shape) != 2:
        return None
    turned = not use.attributes.get("transB", 0)
    inputs, outputs = shape if turned else shape[::-1]
    weights = {"weight": product}
    if bias is not None and not absent(use, bias):
        if use.shapes[bias] != [outputs]:
            return None
        weights["bias"] = bias
    kind = kind_option(use, weights)
    if kind is None:
        return None
    turn = ("weight",) if turned else ()
    return Spec("nn.Linear", [inputs, outputs], {"bias": "bias" in weights, **kind}, weights, turn)


def gemm(use: Use) -> Spec | None:
    plain = not use.attributes.get("transA", 0)
    plain = plain and use.attributes.get("alpha", 1.0) == use.attributes.get("beta", 1.0) == 1.0
    return linear(use) if plain else None


def embedding(use: Use) -> Spec | None:
    shape = use.shapes[0]
    kind = kind_option(use, {"weight": 0}) if shape is not None else None
    if shape is None or kind is None or len(shape) != 2 or use.attributes.get("axis", 0) or has(use, 1):
        return None
    return Spec("nn.Embedding", shape, kind, {"weight": 0})


def pool(name: str) -> Callable[[Use], Spec | None]:
    """A pool that says its padding once; it has no weights."""

    def spec(use: Use) -> Spec | None:
        get = use.attributes.get
        kernel = list(get("kernel_shape", []))
        pads = list(get("pads", [0] * 2 * len(kernel)))
        half = len(kernel)
        if not 1 <= half <= 3 or get("auto_pad", "NOTSET") not in PLAIN or pads[:half] != pads[half:]:
            return None
        if get("storage_order", 0) or any(2 * pad > size for pad, size in zip(pads, kernel, strict=False)):
            return None
        stride, dilation = list(get("strides", [1] * half)), one_number(list(get("dilations", [1] * half)))
        if name == "Avg" and (dilation != 1 or get("ceil_mode", 0)):
            return None
        options = {
            "kernel_size": one_number(kernel),
            "stride": one_number(stride),
            "padding": one_number(pads[:half]),
            "ceil_mode": bool(get("ceil_mode", 0)),
        }
        if name == "Max":
            options["dilation"] = dilation
        else:
            options["count_include_pad"] = bool(get("count_include_pad", 0)) or not any(pads)
        return Spec(f"nn.{name}Pool{half}d", [], options)

    return spec


LAYERS: dict[str, Callable[[Use], Spec | None]] = {
    "Conv": convolution,
    "ConvTranspose": lambda use: convolution(use, transposed=True),
    "BatchNormalization": batch_norm,
    "LayerNormalization": layer_norm,
    "Gemm": gemm,
    "MatMul": linear,
    "Gather": embedding,
    "MaxPool": pool("Max"),
    "AveragePool": pool("Avg"),
}


def is_usual(spec: Spec, option: str) -> bool:
    """Whether an option has PyTorch's default value."""
    value = spec.options[option]
    if option == "stride" and "Pool" in spec.name:
        return bool(value == spec.options["kernel_size"])
    return option in USUAL and bool(value == USUAL[option])
