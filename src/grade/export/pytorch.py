"""A pattern as the source code of a PyTorch module, as a person would write it."""

import builtins
import keyword
import re

from grade.export.plan import BATCH, PLACEHOLDER, Operands, Plan, Step, plan
from grade.graphs import Pattern

LAYERS = {  # made once; {i}, {o}: channels in and out; {s}: height and width
    "Conv": "nn.Conv2d({i}, {o}, kernel_size=3, padding=1)",
    "ConvTranspose": "nn.ConvTranspose2d({i}, {o}, kernel_size=3, padding=1)",
    "BatchNormalization": "nn.BatchNorm2d({o})",
    "InstanceNormalization": "nn.InstanceNorm2d({o})",
    "GroupNormalization": "nn.GroupNorm(1, {o})",
    "LayerNormalization": "nn.LayerNorm({s})",
    "Relu": "nn.ReLU()",
    "LeakyRelu": "nn.LeakyReLU()",
    "PRelu": "nn.PReLU()",
    "Elu": "nn.ELU()",
    "Selu": "nn.SELU()",
    "Gelu": "nn.GELU()",
    "Mish": "nn.Mish()",
    "HardSwish": "nn.Hardswish()",
    "HardSigmoid": "nn.Hardsigmoid()",
    "Sigmoid": "nn.Sigmoid()",
    "Tanh": "nn.Tanh()",
    "Softplus": "nn.Softplus()",
    "Softmax": "nn.Softmax(dim=-1)",
    "LogSoftmax": "nn.LogSoftmax(dim=-1)",
    "Clip": "nn.Hardtanh(0.0, 6.0)",
    "MaxPool": "nn.MaxPool2d(kernel_size=3, stride=1, padding=1)",
    "AveragePool": "nn.AvgPool2d(kernel_size=3, stride=1, padding=1)",
    "GlobalAveragePool": "nn.AdaptiveAvgPool2d(1)",
    "GlobalMaxPool": "nn.AdaptiveMaxPool2d(1)",
    "Gemm": "nn.Linear({s}, {s})",
    "Resize": "nn.Upsample(size={s})",
}
CALLS = {  # written into the forward pass
    "Add": "{0} + {1}",
    "Sub": "{0} - {1}",
    "Mul": "{0} * {1}",
    "Div": "{0} / {1}",
    "Pow": "{0} ** {1}",
    "Max": "torch.maximum({0}, {1})",
    "Min": "torch.minimum({0}, {1})",
    "MatMul": "{0} @ {1}",
    "Erf": "torch.erf({0})",
    "Exp": "torch.exp({0})",
    "Sqrt": "torch.sqrt({0})",
    "Neg": "-{0}",
    "Abs": "torch.abs({0})",
    "Sin": "torch.sin({0})",
    "Cos": "torch.cos({0})",
    "Reciprocal": "torch.reciprocal({0})",
    "Identity": "{0}.clone()",
    "Transpose": "{0}.transpose(2, 3)",
    "Reshape": "{0}.reshape({0}.shape)",
    "ReduceMean": "{0}.mean(dim=(2, 3), keepdim=True)",
    "ReduceSum": "{0}.sum(dim=(2, 3), keepdim=True)",
    "ReduceMax": "{0}.amax(dim=(2, 3), keepdim=True)",
    "ReduceMin": "{0}.amin(dim=(2, 3), keepdim=True)",
}
STAND_IN = '''

def placeholder(operator: str, *inputs: torch.Tensor) -> torch.Tensor:
    """PLACEHOLDER: stands for an operator that has no counterpart here; put yours in its place."""
    return sum(inputs[1:], start=inputs[0])
'''


def source_code(pattern: Pattern, name: str = "Motif", about: str = "", places: Operands = None) -> str:
    """The source of a module that holds one class and a function that makes inputs for it.

    >>> block = Pattern.of([0, 1, 2], [[0, 1, 0], [0, 0, 1], [0, 0, 0]], ("Conv", "Relu", "Add"))
    >>> print(source_code(block, "Block").split("return")[0].split("nn.Module):")[1])
    <BLANKLINE>
        def __init__(self) -> None:
            super().__init__()
            self.conv = nn.Conv2d(8, 8, kernel_size=3, padding=1)
            self.relu = nn.ReLU()
    <BLANKLINE>
        def forward(self, x1: torch.Tensor, x2: torch.Tensor) -> torch.Tensor:
            conv = self.conv(x1)
            relu = self.relu(conv)
            add = relu + x2
    <BLANKLINE>
    """
    steps = plan(pattern, places)
    names = {value.name: value.name for value in steps.inputs} | variable_names(steps)
    layers, lines = [], []
    for step in steps.steps:
        variable, given = names[step.output.name], [names[value.name] for value in step.inputs]
        if step.operator in LAYERS:
            shape = {"i": step.inputs[0].width, "o": step.output.width, "s": step.output.size}
            layers.append(f"self.{variable} = {LAYERS[step.operator].format(**shape)}")
        lines.append(f"{variable} = {call(step, variable, given)}{remark(step)}")
    results = [names[value.name] for value in steps.outputs]
    kind = "torch.Tensor" if len(results) == 1 else f"tuple[{', '.join(['torch.Tensor'] * len(results))}]"
    parameters = ", ".join(f"{value.name}: torch.Tensor" for value in steps.inputs)
    examples = [f"torch.rand({BATCH}, {v.width}, {v.size}, {v.size}) + 0.5," for v in steps.inputs]
    made = [f"return ({examples[0]})"] if len(examples) == 1 else ["return (", *indented(examples, 4), ")"]
    has_placeholder = any(step.operator == PLACEHOLDER for step in steps.steps)
    text = [
        f'"""{plain(about or str(pattern))}',
        "",
        "Written by GraDE: the operators and their arcs are the pattern's, the shapes are",
    ]
    text += ["an example: change them as you like.", '"""', "", "import torch", "from torch import nn"]
    text += STAND_IN.rstrip().split("\n") if has_placeholder else []
    text += ["", "", f"class {name}(nn.Module):"]
    if layers:
        text += ["    def __init__(self) -> None:", "        super().__init__()", *indented(layers, 8), ""]
    text += [
        f"    def forward(self, {parameters}) -> {kind}:",
        *indented([*lines, f"return {', '.join(results)}"], 8),
    ]
    text += [
        "",
        "",
        "def example_inputs() -> tuple[torch.Tensor, ...]:",
        '    """Random positive inputs of the shapes above."""',
    ]
    text += [*indented(made, 4), ""]
    return "\n".join(text)


def call(step: Step, variable: str, given: list[str]) -> str:
    """The expression that computes a step."""
    if step.clamp is not None:
        given = [f"{name}.clamp(min=1e-3)" if i == step.clamp else name for i, name in enumerate(given)]
    if step.square:
        return f"{given[0]} ** 2"
    if step.operator in LAYERS:
        return f"self.{variable}({given[0]})"
    if step.operator == "Concat":
        return f"torch.cat([{', '.join(given)}], dim=1)"
    if step.operator == PLACEHOLDER:
        return f"placeholder({step.label!a}, {', '.join(given)})  # PLACEHOLDER"
    return CALLS[step.operator].format(*given)


def remark(step: Step) -> str:
    """A remark on a line for its reader."""
    notes = ["the order of the operands is not known"] * (not step.in_order)
    notes += ["clamped: example values could make this no number"] * (step.clamp is not None)
    return f"  # {'; '.join(notes)}" if notes else ""


def variable_names(steps: Plan) -> dict[str, str]:
    """Value -> a variable named like its operator, numbered where there are several."""
    stems = [stem(step.label) for step in steps.steps]
    names = {}
    for number, (step, word) in enumerate(zip(steps.steps, stems, strict=True)):
        names[step.output.name] = f"{word}{stems[:number].count(word) + 1}" if stems.count(word) > 1 else word
    return names


def stem(label: str) -> str:
    """A type as the beginning of a variable's name.

    >>> stem("BatchNormalization"), stem("aten.max_pool2d"), stem("Max"), stem("IsNaN")
    ('batch_norm', 'max_pool', 'max_', 'is_nan')
    """
    words = (
        re.sub(r"(?<=[a-z])(?=[A-Z])", "_", label.removeprefix("aten.").replace("NaN", "Nan"))
        .lower()
        .replace("normalization", "norm")
    )
    word = re.sub(r"[^a-z0-9]+", "_", words.encode("ascii", "ignore").decode()).strip("_0123456789")
    word = re.sub(r"\d+d?$", "", word)[:30] or "operator"
    if (
        keyword.iskeyword(word)
        or hasattr(builtins, word)
        or word in ("torch", "nn", "self", "placeholder", "x")
    ):
        word += "_"
    return word


def plain(text: str) -> str:
    """A text for a docstring: printable, on one line, and unable to end it."""
    return re.sub(r"[^ -~]|[\\\\\"]", "?", text)


def indented(lines: list[str], by: int) -> list[str]:
    return [" " * by + line for line in lines]
