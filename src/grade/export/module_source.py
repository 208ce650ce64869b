"""The file of an outlined model's modules: imports, helpers, classes, and how the weights are loaded."""

from collections.abc import Iterable, Mapping, Sequence

from grade.export.module_classes import Class
from grade.export.module_weights import table
from grade.export.pytorch import indented, plain
from grade.export.torch_helpers import HELPERS
from grade.export.translation import STAND_IN

WIDTH = 100  # of a line that can be broken
WEIGHT = '''
def weight(shape: list[int], dtype: torch.dtype = torch.float32) -> nn.Parameter:
    """A parameter that waits for its values; `load` brings them."""
    return nn.Parameter(torch.zeros(shape, dtype=dtype))
'''
PLAIN = """    import onnx

    graph = onnx.load(path).graph
"""
INLINED = """    import onnx
    from onnx.inliner import inline_local_functions

    graph = inline_local_functions(onnx.load(path)).graph
"""
LOAD = f'''
def load(path: str) -> Model:
    """The model with the weights of the ONNX file that it was written from."""
{PLAIN}    tensors = {{tensor.name: tensor for tensor in graph.initializer}}
    tensors |= {{node.output[0]: node.attribute[0].t for node in graph.node if node.op_type == "Constant"}}
    state = {{}}
    for name, tensor in (INITIALIZERS | TRANSPOSED).items():
        array = onnx.numpy_helper.to_array(tensors[tensor])
        array = array.astype("float32") if array.dtype.name == "bfloat16" else array
        state[name] = torch.tensor(array.T if name in TRANSPOSED else array)
    model = Model()
    model.load_state_dict(state)
    return model.eval()
'''


def source_text(
    about: str,
    classes: Sequence[Class],
    counts: Mapping[int, tuple[int, int]],
    paths: Iterable[tuple[str, str, bool]],
    helpers: Iterable[str],
    placeholders: bool,
    inlined: bool = False,
) -> str:
    """The whole file.

    Parameters
    ----------
    classes
        those of the blocks, inner ones first, then the model's
    counts
        (operators, occurrences) of each block
    paths
        (name in the state dictionary, constant in the model, whether it is transposed) of all parameters
    helpers
        names of the helper functions that the statements use
    placeholders
        whether some operator has no counterpart
    inlined
        whether the model has functions, whose constants are among the weights
    """
    bodies = [class_lines(each, counts) for each in classes]
    every = "\n".join(line for body in bodies for line in body)
    parts = [
        [
            f'"""{plain(about)}',
            "",
            "Written by GraDE: a class for each block that repeats. `load` takes the weights from the ONNX file.",
            '"""',
            "",
            "import torch",
            *(
                ["import torch.nn.functional as F"]
                if "F." in every or any("F." in HELPERS[h] for h in helpers)
                else []
            ),
            "from torch import nn",
        ]
    ]
    if " = weight(" in every:
        parts.append(WEIGHT.strip("\n").split("\n"))
    parts += [HELPERS[helper].strip("\n").split("\n") for helper in sorted(helpers)]
    if placeholders:
        parts.append(STAND_IN.strip("\n").split("\n"))
    parts += bodies
    rows = list(paths)
    if rows:
        parts.append(
            [
                "# Parameter -> the initializer or constant of the model that it is.",
                *table("INITIALIZERS", [(name, value) for name, value, turned in rows if not turned]),
                "# The same for weights that PyTorch keeps transposed.",
                *table("TRANSPOSED", [(name, value) for name, value, turned in rows if turned]),
            ]
        )
        loading = LOAD.replace(PLAIN, INLINED) if inlined else LOAD
        parts.append(loading.strip("\n").split("\n"))
    return "\n\n\n".join("\n".join(part) for part in parts) + "\n"


def class_lines(made: Class, counts: Mapping[int, tuple[int, int]]) -> list[str]:
    """The source of a class."""
    lines = [f"class {made.name}(nn.Module):"]
    if made.symbol is not None:
        nodes, count = counts[made.symbol]
        lines += [f'    """{nodes} operators, {count} times in the model."""', ""]
    if made.setup:
        given = [f"{argument.name}: {argument.annotation()}" for argument in made.sorted_arguments()]
        lines += [
            *indented(signature("__init__", ["self", *given], "None"), 4),
            "        super().__init__()",
            *indented(made.setup, 8),
            "",
        ]
    kind = "torch.Tensor"
    if len(made.results) != 1:
        kind = f"tuple[{', '.join(['torch.Tensor'] * len(made.results)) or '()'}]"
    arguments = ["self", *(f"{name}: torch.Tensor" for name in made.inputs)]
    return [*lines, *indented(signature("forward", arguments, kind), 4), *indented(made.forward(), 8)]


def signature(name: str, arguments: Sequence[str], result: str) -> list[str]:
    """The head of a method, an argument a line where it would be too long.

    >>> signature("forward", ["self", "x: int"], "int")
    ['def forward(self, x: int) -> int:']
    """
    line = f"def {name}({', '.join(arguments)}) -> {result}:"
    if len(line) <= WIDTH:
        return [line]
    return [f"def {name}(", *(f"    {argument}," for argument in arguments), f") -> {result}:"]
