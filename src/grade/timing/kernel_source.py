"""One kernel for several operators: element by element, with norms and softmax along the last axis, in C++ or Triton.

A kernel works row by row, with a loop over the elements of the row. A reduction ends the loop; values that later
loops read are kept in a buffer (C++) or in registers (Triton). The same statements serve both languages: a
`Language` spells the functions and numbers.
"""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np
import torch


class UnsupportedError(Exception):
    """The operator, or this use of it, cannot be part of a kernel."""


@dataclass(frozen=True)
class Language:
    """How functions and numbers are written."""

    suffix: str  # of a number
    names: dict[str, str]  # function -> template

    def __call__(self, function: str, *arguments: str) -> str:
        return self.names[function].format(*arguments)

    def number(self, value: float) -> str:
        if not np.isfinite(value):
            raise UnsupportedError
        return f"({float(value)!r}{self.suffix})"


CPP = Language(
    "f",
    {
        "exp": "expf({0})", "log": "logf({0})", "sqrt": "sqrtf({0})", "erf": "erff({0})", "abs": "fabsf({0})",
        "tanh": "tanhf({0})", "pow": "powf({0}, {1})", "max": "({0} > {1} ? {0} : {1})",
        "min": "({0} < {1} ? {0} : {1})", "where": "({0} ? {1} : {2})",
    },
)  # fmt: skip
TRITON = Language(
    "",
    {
        "exp": "tl.exp({0})", "log": "tl.log({0})", "sqrt": "tl.sqrt({0})", "erf": "tl.erf({0})", "abs": "tl.abs({0})",
        "tanh": "(2.0 / (1.0 + tl.exp(-2.0 * ({0}))) - 1.0)", "pow": "tl.exp({1} * tl.log({0}))",
        "max": "tl.maximum({0}, {1})", "min": "tl.minimum({0}, {1})", "where": "tl.where({0}, {1}, {2})",
    },
)  # fmt: skip

Expression = Callable[[Language, list[str], dict[str, Any]], str]


def sigmoid(language: Language, x: str) -> str:
    return f"({language.number(1)} / ({language.number(1)} + {language('exp', f'-({x})')}))"


def gelu(language: Language, a: list[str], attributes: dict[str, Any]) -> str:
    one, half = language.number(1), language.number(0.5)
    if attributes.get("approximate", "none") == "tanh":
        cube = f"({a[0]} + {language.number(0.044715)} * {a[0]} * {a[0]} * {a[0]})"
        inner = language("tanh", f"{language.number((2 / np.pi) ** 0.5)} * {cube}")
    else:
        inner = language("erf", f"{a[0]} * {language.number(0.5**0.5)}")
    return f"{half} * {a[0]} * ({one} + {inner})"


def softplus(language: Language, x: str) -> str:
    one = language.number(1)
    log = language("log", f"{one} + {language('exp', '-' + language('abs', x))}")
    return f"({language('max', x, language.number(0))} + {log})"


def clipped(language: Language, x: str, low: float, high: float) -> str:
    return language("min", language("max", x, language.number(low)), language.number(high))


def hard_sigmoid(language: Language, x: str, alpha: float, beta: float) -> str:
    return clipped(language, f"({language.number(alpha)} * {x} + {language.number(beta)})", 0, 1)


POINTWISE: dict[str, Expression] = {
    "Add": lambda f, a, k: f"{a[0]} + {a[1]}",
    "Sub": lambda f, a, k: f"{a[0]} - {a[1]}",
    "Mul": lambda f, a, k: f"{a[0]} * {a[1]}",
    "Div": lambda f, a, k: f"{a[0]} / {a[1]}",
    "Max": lambda f, a, k: f("max", a[0], a[1]),
    "Min": lambda f, a, k: f("min", a[0], a[1]),
    "Neg": lambda f, a, k: f"-{a[0]}",
    "Abs": lambda f, a, k: f("abs", a[0]),
    "Exp": lambda f, a, k: f("exp", a[0]),
    "Log": lambda f, a, k: f("log", a[0]),
    "Sqrt": lambda f, a, k: f("sqrt", a[0]),
    "Erf": lambda f, a, k: f("erf", a[0]),
    "Tanh": lambda f, a, k: f("tanh", a[0]),
    "Reciprocal": lambda f, a, k: f"{f.number(1)} / {a[0]}",
    "Identity": lambda f, a, k: a[0],
    "Relu": lambda f, a, k: f("max", a[0], f.number(0)),
    "LeakyRelu": lambda f, a, k: f(
        "where", f"{a[0]} > {f.number(0)}", a[0], f"{f.number(k.get('alpha', 0.01))} * {a[0]}"
    ),
    "Elu": lambda f, a, k: f(
        "where",
        f"{a[0]} > {f.number(0)}",
        a[0],
        f"{f.number(k.get('alpha', 1.0))} * ({f('exp', a[0])} - {f.number(1)})",
    ),
    "Sigmoid": lambda f, a, k: sigmoid(f, a[0]),
    "HardSigmoid": lambda f, a, k: hard_sigmoid(f, a[0], k.get("alpha", 0.2), k.get("beta", 0.5)),
    "HardSwish": lambda f, a, k: f"{a[0]} * {hard_sigmoid(f, a[0], 1 / 6, 0.5)}",
    "Softplus": lambda f, a, k: softplus(f, a[0]),
    "Mish": lambda f, a, k: f"{a[0]} * {f('tanh', softplus(f, a[0]))}",
    "Gelu": gelu,
}
ROWWISE = ("LayerNormalization", "Softmax", "ReduceMean")  # along the last axis


@dataclass
class Operand:
    """A tensor that a kernel reads or writes: its place among the arguments, and its strides in the full shape."""

    name: str
    strides: tuple[int, ...]


@dataclass
class Segment:
    """Statements for each element of a row, and the reductions over the row."""

    lines: list[tuple[str, str]] = field(default_factory=list)  # variable, expression
    sums: list[tuple[str, str, str]] = field(default_factory=list)  # variable, "sum" or "max", expression
    after: list[tuple[str, str]] = field(default_factory=list)  # scalars, once for each row


@dataclass
class Kernel:
    """The computation, independent of the language."""

    shape: tuple[int, ...]  # [dims] merged; rows are the last one
    inputs: list[Operand]
    outputs: list[tuple[Operand, str]]  # and the variable that is stored
    segments: list[Segment]
    rowwise: bool

    @property
    def rows(self) -> int:
        return int(np.prod(self.shape[:-1], dtype=np.int64))

    @property
    def length(self) -> int:
        return self.shape[-1]


def broadcast_strides(tensor: torch.Tensor, shape: Sequence[int]) -> tuple[int, ...]:
    """Strides of a tensor in a larger shape, 0 along the axes in which it repeats."""
    lead = len(shape) - tensor.dim()
    return (0,) * lead + tuple(
        0 if size == 1 else stride for size, stride in zip(tensor.shape, tensor.stride(), strict=True)
    )


def merged(
    shape: Sequence[int], strides: list[tuple[int, ...]], keep_last: bool
) -> tuple[list[int], list[list[int]]]:
    """Fewer axes: neighbours along which every tensor is laid out evenly become one; axes of size 1 go.

    >>> merged((2, 3, 4), [(12, 4, 1), (0, 0, 0)], False)
    ([24], [[1], [0]])
    >>> merged((2, 3, 4), [(12, 4, 1), (0, 1, 0)], False)
    ([2, 3, 4], [[12, 4, 1], [0, 1, 0]])
    """
    sizes: list[int] = []
    found: list[list[int]] = [[] for _ in strides]
    for axis, size in enumerate(shape):
        last = keep_last and axis == len(shape) - 1
        if size == 1 and not last:
            continue
        even = (
            bool(sizes)
            and not last
            and all(own[-1] == given[axis] * size for own, given in zip(found, strides, strict=True))
        )
        if even:
            sizes[-1] *= size
        else:
            sizes.append(size)
        for own, given in zip(found, strides, strict=True):
            if even:
                own[-1] = given[axis]
            else:
                own.append(given[axis])
    if not sizes:
        return [1], [[1] for _ in strides]
    return sizes, found


def kernel_cpp(kernel: Kernel) -> str:
    """The C++ source of a function ``run(const float* in0, ..., float* out0, ...)``."""
    arguments = [f"const float* __restrict {o.name}" for o in kernel.inputs]
    arguments += [f"float* __restrict {o.name}" for o, _ in kernel.outputs]
    body: list[str] = []
    chunked = not kernel.rowwise and kernel.rows == 1
    if chunked:
        body += [f"for (long begin = 0; begin < {kernel.length}L; begin += {CHUNK}L) {{"]
        body += [
            f"const long end = begin + {CHUNK}L < {kernel.length}L ? begin + {CHUNK}L : {kernel.length}L;"
        ]
    else:
        body += [f"for (long row = 0; row < {kernel.rows}L; ++row) {{", "long rest = row;"]
        for axis in reversed(range(len(kernel.shape) - 1)):
            body += [f"const long i{axis} = rest % {kernel.shape[axis]}L; rest /= {kernel.shape[axis]}L;"]
    for operand in [*kernel.inputs, *(o for o, _ in kernel.outputs)]:
        parts = [f"i{axis} * {stride}L" for axis, stride in enumerate(operand.strides[:-1]) if stride]
        kind = "float*" if operand.name.startswith("out") else "const float*"
        body += [f"{kind} __restrict p_{operand.name} = {operand.name} + {' + '.join(parts) or '0L'};"]
    range_ = "long j = begin; j < end; ++j" if chunked else f"long j = 0; j < {kernel.length}L; ++j"
    segment_of = {name: number for number, s in enumerate(kernel.segments) for name, _ in s.lines}
    buffered = {name for name in segment_of if is_read_later(kernel, name, segment_of[name])}
    body += [f"float b_{name}[{kernel.length}];" for name in sorted(buffered)]
    for number, segment in enumerate(kernel.segments):
        stored = [(o, v) for o, v in kernel.outputs if segment_of.get(v, -1) == number]
        for name, kind, _ in segment.sums:
            body += [f"float {name} = {'0.0f' if kind == 'sum' else '-3.4e38f'};"]
        sums = ",".join(f"{'+' if kind == 'sum' else 'max'}:{name}" for name, kind, _ in segment.sums)
        reductions = "".join(f" reduction({part})" for part in sums.split(",") if part)
        if segment.lines or segment.sums or stored:
            body += [f"#pragma omp simd{reductions}", f"for ({range_}) {{"]
            for operand in kernel.inputs:
                if reads(segment, operand.name):
                    body += [f"const float {operand.name}_ = p_{operand.name}[j * {operand.strides[-1]}L];"]
            for name in sorted(buffered):
                if segment_of[name] < number and reads(segment, name):
                    body += [f"const float {name} = b_{name}[j];"]
            for name, expression in segment.lines:
                body += [f"const float {name} = {expression};"]
                body += [f"b_{name}[j] = {name};"] * (name in buffered)
            for name, kind, expression in segment.sums:
                if kind == "sum":
                    body += [f"{name} += {expression};"]
                else:
                    body += [f"{name} = {name} > {expression} ? {name} : {expression};"]
            body += [f"p_{o.name}[j * {o.strides[-1]}L] = {v};" for o, v in stored]
            body += ["}"]
        body += [f"const float {name} = {expression};" for name, expression in segment.after]
    body += ["}"]
    return "\n".join(
        [
            "#include <cmath>",
            f'extern "C" void run({", ".join(arguments)}) {{',
            "#pragma omp parallel for",
            *body,
            "}",
        ]
    )


CHUNK = 8192  # elements that a thread takes at a time


def reads(segment: Segment, name: str) -> bool:
    """Whether some expression of a segment reads a variable or operand."""
    word = re.compile(rf"\b{name}_?\b")
    return any(word.search(text) for _, text in segment.lines) or any(
        word.search(text) for _, _, text in segment.sums
    )


def is_read_later(kernel: Kernel, name: str, number: int) -> bool:
    return any(reads(segment, name) for segment in kernel.segments[number + 1 :])


def kernel_triton(kernel: Kernel) -> str:
    """The source of a module with a Triton kernel ``kernel``, its grid ``GRID`` and the elements of a program.

    Without reductions a program takes `ELEMENTS` of the whole shape, and each operand is found from the coordinates of
    an element. With reductions it takes whole rows [ROWS, BLOCK], several where these are short.
    """
    width = 1 << (kernel.length - 1).bit_length()
    total = kernel.rows * kernel.length
    names = [o.name for o in kernel.inputs] + [o.name for o, _ in kernel.outputs]
    number = "tl.program_id(0)" + ".to(tl.int64)" * (total >= 2**30)
    if kernel.rowwise:
        rows = max(ELEMENTS // width, 1)
        grid, elements = -(-kernel.rows // rows), rows * width
        body = [
            f"first = {number} * {rows} + tl.arange(0, {rows})[:, None]",
            f"j = tl.arange(0, {width})[None, :]",
            f"rows_in = first < {kernel.rows}",
            f"columns_in = j < {kernel.length}",
            "mask = rows_in & columns_in",
        ]
        axes = list(range(len(kernel.shape) - 1))
    else:
        grid, elements = -(-total // ELEMENTS), ELEMENTS
        body = [f"first = {number} * {ELEMENTS} + tl.arange(0, {ELEMENTS})", f"mask = first < {total}"]
        axes = list(range(len(kernel.shape)))
    for step, axis in enumerate(reversed(axes)):
        rest = f"rest{step}" if step else "first"
        body += [f"i{axis} = {rest} % {kernel.shape[axis]}"] if axis else [f"i{axis} = {rest}"]
        body += [f"rest{step + 1} = {rest} // {kernel.shape[axis]}"] * bool(axis)
    dense = dense_strides(kernel.shape)

    def place_of(operand: Operand) -> tuple[str, str]:
        """The address, and the mask of its shape; no mask for a single number."""
        if not kernel.rowwise and operand.strides == dense:
            return f"{operand.name} + first", "mask"
        along = [f"i{axis} * {operand.strides[axis]}" for axis in axes if operand.strides[axis]]
        if not kernel.rowwise:
            return " + ".join([operand.name, *along]), "mask" if along else ""
        last = [f"j * {operand.strides[-1]}"] * bool(operand.strides[-1])
        mask = "mask" if along and last else "rows_in" * bool(along) + "columns_in" * bool(last)
        return " + ".join([operand.name, *along, *last]), mask

    for operand in kernel.inputs:
        place, mask = place_of(operand)
        body += [f"{operand.name}_ = tl.load({place}{f', mask={mask}, other=0.0' if mask else ''})"]
    for segment in kernel.segments:
        body += [f"{name} = {expression}" for name, expression in segment.lines]
        for name, kind, expression in segment.sums:
            fill = "0.0" if kind == "sum" else '-float("inf")'
            body += [f"{name} = tl.{kind}(tl.where(mask, {expression}, {fill}), axis=1, keep_dims=True)"]
        body += [f"{name} = {expression}" for name, expression in segment.after]
    # Results are dense in the order of the axes.
    target = f"first * {kernel.length} + j" if kernel.rowwise else "first"
    body += [f"tl.store({o.name} + {target}, {v}, mask=mask)" for o, v in kernel.outputs]
    head = [
        "import triton",
        "import triton.language as tl",
        "",
        f"GRID = ({grid},)",
        f"ELEMENTS = {elements}",
    ]
    head += ["", "", "@triton.jit", f"def kernel({', '.join(names)}):"]
    return "\n".join([*head, *(f"    {line}" for line in body), ""])


ELEMENTS = 1024  # that a Triton program takes, or as many as one row has


def dense_strides(shape: Sequence[int]) -> tuple[int, ...]:
    """Strides of a dense tensor.

    >>> dense_strides((2, 3, 4))
    (12, 4, 1)
    """
    return tuple(int(np.prod(shape[axis + 1 :], dtype=np.int64)) for axis in range(len(shape)))
