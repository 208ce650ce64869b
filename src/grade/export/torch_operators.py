"""ONNX operators as PyTorch expressions, exactly: attributes, defaults and corner cases of ONNX's own definition.

Each entry takes a `Call` and returns the source of an expression (or of several, for operators with several results).
Where PyTorch has no call with the same meaning, the expression uses a helper of `grade.export.torch_helpers`, which is
then written into the module as well.
"""

from collections.abc import Callable

import numpy as np

from grade.export.operator_call import DTYPES, Call, UntranslatableError, number, short
from grade.export.torch_indexing import gather_elements, single, slice_


def binary(symbol: str) -> Callable[[Call], str]:
    return lambda c: f"{c.scalar(0)} {symbol} {c.scalar(1)}"


def binary_as_given(symbol: str) -> Callable[[Call], str]:
    return lambda c: f"{c[0]} {symbol} {c[1]}"


def function(name: str) -> Callable[[Call], str]:
    return lambda c: f"{name}({c[0]})"


def spread(c: Call) -> str:
    """Symmetric pads of a convolution or pool as one number for each axis."""
    pads = list(c.get("pads", [0, 0] * len(c.attributes["kernel_shape"])))
    half = len(pads) // 2
    if pads[:half] != pads[half:]:
        raise UntranslatableError
    return str(tuple(pads[:half]))


def padded(c: Call, fill: str) -> tuple[str, str]:
    """(input, padding): the input is padded beforehand where PyTorch's own padding cannot say it."""
    mode = c.get("auto_pad", "NOTSET")
    kernel = c.attributes["kernel_shape"]
    if mode in ("SAME_UPPER", "SAME_LOWER"):
        strides = tuple(c.get("strides", [1] * len(kernel)))
        dilations = tuple(c.get("dilations", [1] * len(kernel)))
        upper = mode == "SAME_UPPER"
        return c.helper("pad_same", c[0], tuple(kernel), strides, dilations, upper, fill), "0"
    try:
        return c[0], "0" if mode == "VALID" else spread(c)
    except UntranslatableError:
        pads, half = c.get("pads"), len(kernel)
        flat = [pads[i + side * half] for i in reversed(range(half)) for side in (0, 1)]
        return f"F.pad({c[0]}, {flat}, value={fill})", "0"


def convolution(c: Call) -> str:
    rank = c.ranks[1]
    if rank is None or not 3 <= rank <= 5:
        raise UntranslatableError
    if "kernel_shape" not in c.attributes:
        c.attributes["kernel_shape"] = [0] * (rank - 2)
        if c.get("auto_pad", "NOTSET") in ("SAME_UPPER", "SAME_LOWER"):
            raise UntranslatableError
    given, padding = padded(c, "0.0")
    more = "".join(
        f", {name}={tuple(c.get(attribute))}"
        for name, attribute in (("stride", "strides"), ("dilation", "dilations"))
        if set(c.get(attribute, [1])) != {1}
    )
    more += "" if set(padding) <= set("(0, )") else f", padding={padding}"
    more += "" if c.get("group", 1) == 1 else f", groups={c.get('group')}"
    bias = c.optional(2) or "None"
    return f"F.conv{rank - 2}d({given}, {c[1]}, {bias}{more})"


def transposed_convolution(c: Call) -> str:
    rank = c.ranks[1]
    if (
        rank is None
        or not 3 <= rank <= 5
        or c.get("auto_pad", "NOTSET") != "NOTSET"
        or "output_shape" in c.attributes
    ):
        raise UntranslatableError
    c.attributes.setdefault("kernel_shape", [0] * (rank - 2))
    one = [1] * (rank - 2)
    strides, dilations = tuple(c.get("strides", one)), tuple(c.get("dilations", one))
    extra = tuple(c.get("output_padding", [0] * (rank - 2)))
    return (
        f"F.conv_transpose{rank - 2}d({c[0]}, {c[1]}, {c.optional(2) or 'None'}, stride={strides},"
        f" padding={spread(c)}, output_padding={extra}, groups={c.get('group', 1)}, dilation={dilations})"
    )


def max_pool(c: Call) -> str:
    kernel = c.attributes["kernel_shape"]
    if c.outputs > 1 or c.get("storage_order", 0):
        raise UntranslatableError
    given, padding = padded(c, 'float("-inf")')
    strides, dilations = (
        tuple(c.get("strides", [1] * len(kernel))),
        tuple(c.get("dilations", [1] * len(kernel))),
    )
    ceil = bool(c.get("ceil_mode", 0))
    return f"F.max_pool{len(kernel)}d({given}, {tuple(kernel)}, {strides}, {padding}, {dilations}, ceil_mode={ceil})"


def average_pool(c: Call) -> str:
    kernel = c.attributes["kernel_shape"]
    if set(c.get("dilations", [1])) != {1} or c.get("ceil_mode", 0):
        raise UntranslatableError
    strides, include = tuple(c.get("strides", [1] * len(kernel))), bool(c.get("count_include_pad", 0))
    given, padding = padded(c, "0.0")
    if given != c[0] and not include:
        raise UntranslatableError
    return f"F.avg_pool{len(kernel)}d({given}, {tuple(kernel)}, {strides}, {padding}, count_include_pad={include})"


def over_space(method: str) -> Callable[[Call], str]:
    return lambda c: f"{c[0]}.{method}(dim=tuple(range(2, {c[0]}.dim())), keepdim=True)"


def batch_norm(c: Call) -> str:
    if c.outputs > 1 or c.get("training_mode", 0):
        raise UntranslatableError
    return f"F.batch_norm({c[0]}, {c[3]}, {c[4]}, {c[1]}, {c[2]}, eps={short(c.get('epsilon', 1e-5))})"


def layer_norm(c: Call) -> str:
    if c.outputs > 1:
        raise UntranslatableError
    axis, eps = c.get("axis", -1), f"{short(c.get('epsilon', 1e-5))}"
    bias = c.optional(2) or "None"
    return f"F.layer_norm({c[0]}, {c[0]}.shape[{axis}:], {c[1]}, {bias}, eps={eps})"


def group_norm(c: Call) -> str:
    if c.opset < 21:
        raise UntranslatableError  # scale and bias were per group
    return f"F.group_norm({c[0]}, {c.attributes['num_groups']}, {c[1]}, {c[2]}, eps={short(c.get('epsilon', 1e-5))})"


def gemm(c: Call) -> str:
    a = f"{c[0]}.T" if c.get("transA", 0) else c[0]
    b = f"{c[1]}.T" if c.get("transB", 0) else c[1]
    alpha, beta = c.get("alpha", 1.0), c.get("beta", 1.0)
    product = f"{a} @ {b}" if alpha == 1 else f"{alpha:.9g} * ({a} @ {b})"
    if c.optional(2) is None:
        return product
    return f"{product} + {c[2]}" if beta == 1 else f"{product} + {beta:.9g} * {c[2]}"


def softmax(name: str) -> Callable[[Call], str]:
    def expression(c: Call) -> str:
        if c.opset >= 13:
            return f"F.{name}({c[0]}, dim={c.get('axis', -1)})"
        axis = c.get("axis", 1)  # before opset 13: over all axes from this one on
        return f"F.{name}({c[0]}.flatten({axis}), dim=-1).reshape({c[0]}.shape)"

    return expression


def reduction(method: str) -> Callable[[Call], str]:
    def expression(c: Call) -> str:
        keep, axes = ", keepdim=True" if c.get("keepdims", 1) else "", c.axes(1)
        if axes is None or axes == "[]":
            if c.get("noop_with_empty_axes", 0):
                return c[0]
            axes = f"range({c[0]}.dim())"
        numbers = axes.strip("[]") if axes.startswith("[") else None
        dim = f"tuple({axes})" if numbers is None else f"({numbers})" if "," in numbers else numbers
        name, after = {
            "l2": ("square().sum", ".sqrt()"),
            "l1": ("abs().sum", ""),
            "square": ("square().sum", ""),
        }.get(method, (method, ""))
        if method == "prod":
            raise UntranslatableError
        return f"{c[0]}.{name}({dim}{keep}){after}"

    return expression


def argument(name: str) -> Callable[[Call], str]:
    def expression(c: Call) -> str:
        if c.get("select_last_index", 0):
            raise UntranslatableError
        return f"torch.{name}({c[0]}, dim={c.get('axis', 0)}, keepdim={bool(c.get('keepdims', 1))})"

    return expression


def clip(c: Call) -> str:
    if c.opset < 11:
        low, high = c.get("min"), c.get("max")
        given = [(name, value) for name, value in (("min", low), ("max", high)) if value is not None]
        bounds = [f"{name}={number(np.float32(value))}" for name, value in given]
        return f"torch.clamp({c[0]}, {', '.join(bounds)})" if bounds else c[0]
    bounds = [
        f"{name}={number(known) if known is not None and known.size == 1 else c[place]}"
        for name, place in (("min", 1), ("max", 2))
        if c.optional(place) is not None
        for known in [c.constant(place)]
    ]
    return f"torch.clamp({c[0]}, {', '.join(bounds)})" if bounds else c[0]


def reshape(c: Call) -> str:
    known = c.constant(1) if c.opset >= 5 else np.array(c.get("shape"))
    kept = not c.get("allowzero", 0)  # whether 0 is the size of the operand
    if known is None:
        return c.helper("reshape", c[0], c.ints(1)) if kept else f"{c[0]}.reshape({c.ints(1)})"
    numbers = known.ravel().tolist()
    sizes = [f"{c[0]}.shape[{i}]" if kept and n == 0 else str(n) for i, n in enumerate(numbers)]
    return f"{c[0]}.reshape({', '.join(sizes)})" if sizes else f"{c[0]}.reshape(())"


def transpose(c: Call) -> str:
    order = c.get("perm")
    if order is None:
        return f"{c[0]}.permute(*reversed(range({c[0]}.dim())))"
    return f"{c[0]}.permute({', '.join(map(str, order))})"


def unsqueeze(c: Call) -> str:
    return c.helper("unsqueeze", c[0], c.axes(1))


def squeeze(c: Call) -> str:
    axes = c.axes(1)
    if axes is None:
        return f"{c[0]}.squeeze()"
    return f"{c[0]}.squeeze({single(axes) or f'tuple({axes})'})"


def concat(c: Call) -> str:
    return f"torch.cat([{', '.join(c[i] for i in range(len(c.inputs)))}], dim={c.get('axis', 1)})"


def split(c: Call) -> str:
    sizes = c.get("split")
    axis = c.get("axis", 0)
    if sizes is not None:
        return f"torch.split({c[0]}, {list(sizes)}, dim={axis})"
    if c.optional(1) is not None:
        return f"torch.split({c[0]}, {c.ints(1)}, dim={axis})"
    return f"{c[0]}.chunk({c.get('num_outputs', c.outputs)}, dim={axis})"


def gather(c: Call) -> str:
    axis, known = c.get("axis", 0), c.constant(1)
    if known is not None and known.ndim == 0:
        return f"{c[0]}.select({axis}, {known.item()})"
    return c.helper("gather", c[0], c[1], axis)


def pad(c: Call) -> str:
    mode = c.get("mode", "constant")
    if c.opset < 11:
        return c.helper(
            "pad_axes", c[0], list(c.attributes["pads"]), repr(mode), number(np.float32(c.get("value", 0.0)))
        )
    if c.optional(3) is not None:
        raise UntranslatableError
    known = c.constant(2)
    value = "0" if c.optional(2) is None else number(known) if known is not None else f"{c[2]}.item()"
    return c.helper("pad_axes", c[0], c.ints(1), repr(mode), value)


def resize(c: Call) -> str:
    mode, turn = c.get("mode", "nearest"), c.get("coordinate_transformation_mode", "half_pixel")
    rounding = c.get("nearest_mode", "round_prefer_floor")
    scales = c.constant(2) if len(c.inputs) > 2 else c.constant(1) if c.opset < 11 else None
    if c.opset < 11:
        turn, rounding = "asymmetric", "floor"
    if c.get("axes") is not None or c.ranks[0] not in (3, 4, 5):
        raise UntranslatableError
    if scales is not None and scales.size:
        if not np.all(scales[:2] == 1):
            raise UntranslatableError
        size = f"scale_factor={tuple(float(s) for s in scales[2:])}, recompute_scale_factor=False"
    elif c.optional(3) is not None:
        size = f"size=tuple({c.ints(3)}[2:])"
    else:
        raise UntranslatableError
    whole = scales is not None and np.all(scales == np.round(scales)) and np.all(scales >= 1)
    floors = (turn, rounding) == ("asymmetric", "floor")
    if mode == "nearest" and (floors or (whole and turn == "half_pixel" and rounding.startswith("round_"))):
        return f'F.interpolate({c[0]}, {size}, mode="nearest")'
    if mode == "linear" and turn in ("half_pixel", "pytorch_half_pixel", "align_corners"):
        kind = {3: "linear", 4: "bilinear", 5: "trilinear"}[c.ranks[0]]
        return f'F.interpolate({c[0]}, {size}, mode="{kind}", align_corners={turn == "align_corners"})'
    raise UntranslatableError


def cast(c: Call) -> str:
    if c.attributes["to"] not in DTYPES:
        raise UntranslatableError
    return f"{c[0]}.to({DTYPES[c.attributes['to']]})"


def divide(c: Call) -> str:
    return c.helper("divide", c[0], c[1])


def power(c: Call) -> str:
    known = c.constant(1)
    if known is not None and known.size == 1 and known.dtype.kind == "f":
        return f"{c[0]} ** {number(known)}"
    return f"torch.pow({c[0]}, {c[1]}).to({c[0]}.dtype)"


def chained(name: str) -> Callable[[Call], str]:
    def expression(c: Call) -> str:
        result = c[0]
        for place in range(1, len(c.inputs)):
            result = f"{name}({result}, {c[place]})"
        return result

    return expression


def total(c: Call) -> str:
    return " + ".join(c[place] for place in range(len(c.inputs)))


def prelu(c: Call) -> str:
    return f"torch.where({c[0]} >= 0, {c[0]}, {c[0]} * {c[1]})"


def gelu(c: Call) -> str:
    return f'F.gelu({c[0]}, approximate="tanh")' if c.get("approximate") == "tanh" else f"F.gelu({c[0]})"


def shape(c: Call) -> str:
    start, end = c.get("start", 0), c.get("end")
    part = "" if not start and end is None else f"[{start or ''}:{'' if end is None else end}]"
    return f"torch.tensor({c[0]}.shape{part})"


def triangle(c: Call) -> str:
    known = c.constant(1)
    if known is None and c.optional(1) is not None:
        raise UntranslatableError
    diagonal = 0 if known is None else int(known.item())
    name = "triu" if c.get("upper", 1) else "tril"
    return f"torch.{name}({c[0]}{f', {diagonal}' if diagonal else ''})"


def modulo(c: Call) -> str:
    return f"torch.{'fmod' if c.get('fmod', 0) else 'remainder'}({c[0]}, {c[1]})"


def constant_of_shape(c: Call) -> str:
    value = c.get("value")
    filled, kind = ("0.0", "torch.float32") if value is None else (number(value), f"torch.{value.dtype}")
    return f"torch.full({c.ints(0)}, {filled}, dtype={kind.replace('torch.bool_', 'torch.bool')})"


def expand(c: Call) -> str:
    return f"{c[0]}.expand(torch.broadcast_shapes({c[0]}.shape, {c.ints(1)}))"


def flatten(c: Call) -> str:
    axis = c.get("axis", 1)
    if axis == 0:
        return f"{c[0]}.reshape(1, -1)"
    if axis == 1:
        return f"{c[0]}.flatten(1)"
    return f"{c[0]}.reshape({c[0]}.shape[:{axis}].numel(), -1)"  # the axis may be the number of dimensions


def lrn(c: Call) -> str:
    return c.helper(
        "local_response_norm", c[0], c.attributes["size"], f"{c.get('alpha', 1e-4):.9g}",
        f"{c.get('beta', 0.75):.9g}", f"{c.get('bias', 1.0):.9g}",
    )  # fmt: skip


def dropout(c: Call) -> str:
    if c.outputs > 1:
        raise UntranslatableError
    return c[0]


def lstm(c: Call) -> str:
    plain = {"hidden_size", "direction", "linear_before_reset"}
    if (
        c.get("direction", "forward") != "forward"
        or set(c.attributes) - plain
        or c.optional(4)
        or c.optional(7)
    ):
        raise UntranslatableError
    given = [c.optional(place) or "None" for place in (3, 5, 6)]
    results = c.helper("lstm", c[0], c[1], c[2], *given)
    return results if c.outputs == 3 else f"{results}[:{c.outputs}]" if c.outputs > 1 else f"{results}[0]"


def with_alpha(name: str, default: float, argument_name: str) -> Callable[[Call], str]:
    return lambda c: f"{name}({c[0]}, {argument_name}={c.get('alpha', default):.9g})"


OPERATORS: dict[str, Callable[[Call], str]] = {
    "Conv": convolution, "ConvTranspose": transposed_convolution, "MaxPool": max_pool, "AveragePool": average_pool,
    "GlobalAveragePool": over_space("mean"), "GlobalMaxPool": over_space("amax"),
    "BatchNormalization": batch_norm, "LayerNormalization": layer_norm, "GroupNormalization": group_norm,
    "InstanceNormalization": lambda c: (
        f"F.instance_norm({c[0]}, weight={c[1]}, bias={c[2]}, eps={short(c.get('epsilon', 1e-5))})"
    ),
    "LRN": lrn, "Gemm": gemm, "MatMul": binary_as_given("@"),
    "Add": binary("+"), "Sub": binary("-"), "Mul": binary("*"), "Div": divide, "Pow": power, "Sum": total,
    "Max": chained("torch.maximum"), "Min": chained("torch.minimum"),
    "Mean": lambda c: f"({total(c)}) / {len(c.inputs)}",
    "Equal": binary("=="), "Less": binary("<"), "LessOrEqual": binary("<="), "Greater": binary(">"),
    "GreaterOrEqual": binary(">="), "And": binary("&"), "Or": binary("|"), "Xor": binary("^"),
    "Not": lambda c: f"~{c[0]}",
    "Relu": function("F.relu"), "Sigmoid": function("torch.sigmoid"), "Tanh": function("torch.tanh"),
    "Erf": function("torch.erf"), "Exp": function("torch.exp"), "Log": function("torch.log"),
    "Sqrt": function("torch.sqrt"), "Abs": function("torch.abs"), "Neg": lambda c: f"-{c[0]}",
    "Floor": function("torch.floor"), "Ceil": function("torch.ceil"), "Round": function("torch.round"),
    "Sign": function("torch.sign"), "Sin": function("torch.sin"), "Cos": function("torch.cos"),
    "Reciprocal": function("torch.reciprocal"), "Softplus": function("F.softplus"), "Mish": function("F.mish"),
    "HardSwish": function("F.hardswish"), "IsNaN": function("torch.isnan"), "NonZero": lambda c: f"{c[0]}.nonzero().T",
    "Softsign": function("F.softsign"), "Identity": lambda c: c[0], "Dropout": dropout,
    "LeakyRelu": with_alpha("F.leaky_relu", 0.01, "negative_slope"), "Elu": with_alpha("F.elu", 1.0, "alpha"),
    "Selu": function("F.selu"), "Celu": with_alpha("F.celu", 1.0, "alpha"), "Gelu": gelu, "PRelu": prelu,
    "HardSigmoid": lambda c: (
        f"torch.clamp({c.get('alpha', 0.2):.9g} * {c[0]} + {c.get('beta', 0.5):.9g}, 0, 1)"
    ),
    "Clip": clip, "Softmax": softmax("softmax"), "LogSoftmax": softmax("log_softmax"),
    "ReduceMean": reduction("mean"), "ReduceSum": reduction("sum"), "ReduceMax": reduction("amax"),
    "ReduceMin": reduction("amin"), "ReduceL2": reduction("l2"), "ReduceL1": reduction("l1"),
    "ReduceSumSquare": reduction("square"), "ArgMax": argument("argmax"), "ArgMin": argument("argmin"),
    "Reshape": reshape, "Transpose": transpose, "Flatten": flatten, "Unsqueeze": unsqueeze, "Squeeze": squeeze,
    "Concat": concat, "Split": split, "Slice": slice_, "Gather": gather, "Pad": pad, "Resize": resize,
    "Upsample": resize, "Cast": cast, "Shape": shape, "ConstantOfShape": constant_of_shape, "Expand": expand,
    "Where": lambda c: f"torch.where({c[0]}, {c[1]}, {c[2]})",
    "Trilu": triangle, "Mod": modulo, "Tile": lambda c: f"{c[0]}.repeat(*{c.ints(1)})",
    "LSTM": lstm, "GatherElements": gather_elements,
    "Einsum": lambda c: f"torch.einsum({', '.join([repr(c.attributes['equation']), *filter(None, c.inputs)])})",
    "Range": lambda c: f"torch.arange({c[0]}.item(), {c[1]}.item(), {c[2]}.item(), dtype={c[0]}.dtype)",
}  # fmt: skip

SEVERAL = frozenset(["Split", "LSTM"])  # operators whose expression is a sequence of results
