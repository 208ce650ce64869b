"""An occurrence cut out of its model file: a valid ONNX model equivalent to this part of the model.

Operators keep their attributes, the order of their operands and their names. Operators that the graph set leaves out
(constants, operators folded into constants, dropped ones such as Identity) come along where the occurrence needs them.
Constants stay in the model; weights become inputs with their shapes, or stay too where their values are asked for.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from grade.errors import InputError
from grade.export.model_files import ModelFile, Scope, reads_of

SMALL = 1_024  # bytes of an initializer that is kept without being asked for: shapes, axes, scalars
LEAST_IR = 4  # before that, initializers had to be inputs as well


@dataclass(frozen=True)
class Cutout:
    """A part of a model."""

    model: Any  # onnx.ModelProto
    weights: frozenset[str]  # inputs that are weights of the model


def cut(
    file: ModelFile,
    numbers: Sequence[int],
    kept: frozenset[int] | set[int],
    *,
    values: bool = False,
    name: str = "occurrence",
    about: str = "",
) -> Cutout:
    """Cut out operators (their numbers in the file).

    Parameters
    ----------
    kept
        operators of the file that are nodes of the graph set; others come along where they are needed
    values
        keep the values of all weights
    """
    onnx, helper = file.onnx, file.onnx.helper
    scope, main = file.in_one_graph(numbers)
    chosen = with_helpers(file, scope, main, set(kept))
    nodes = [file.operators[number].node for number in scope.members if number in chosen]
    large = {
        n.output[0]: tensor for n in nodes if (tensor := constant_tensor(file, n)) and size_of(tensor) > SMALL
    }
    if not values:
        nodes = [node for node in nodes if node.op_type != "Constant" or node.output[0] not in large]
    made = {value for node in nodes for value in node.output if value}
    read = list(dict.fromkeys(value for node in nodes for value in reads_of(node) if value not in made))
    initializers, inputs = [], []
    weights: set[str] = set()
    for value in read:
        tensor = large.get(value) or scope.find("initializers", value)
        if tensor is not None and (values or size_of(tensor) <= SMALL):
            initializers.append(with_values(file, tensor))
        elif tensor is not None:
            inputs.append(helper.make_tensor_value_info(value, tensor.data_type, list(tensor.dims)))
            weights.add(value)
        else:
            inputs.append(described(file, scope, value))
    outputs = [
        described(file, scope, value)
        for node, number in ((file.operators[n].node, n) for n in scope.members if n in chosen)
        for value in node.output
        if value and file.leaves(scope, value, chosen) and (number in main or value in read)
    ]
    if not outputs:  # nothing reads its result
        last = file.operators[max(main)].node
        outputs = [described(file, scope, value) for value in list(last.output)[:1]]
    graph = helper.make_graph(nodes, name, inputs, outputs, initializers)
    graph.value_info.extend(
        scope.infos[value]
        for value in sorted(made)
        if value in scope.infos and value not in {output.name for output in outputs}
    )
    model = helper.make_model(
        graph,
        opset_imports=list(file.model.opset_import),
        producer_name="GraDE",
        ir_version=max(file.model.ir_version, LEAST_IR),
    )
    model.doc_string = about
    try:
        onnx.checker.check_model(model)
    except onnx.checker.ValidationError as error:
        reason = str(error).strip().splitlines()[0]
        raise InputError(f"The part cut out of {file.path} is not a valid model: {reason}") from error
    return Cutout(model, frozenset(weights))


def with_helpers(file: ModelFile, scope: Scope, chosen: set[int], kept: set[int]) -> set[int]:
    """The operators, with those that are no nodes of the set and either compute constants for them, or lie between."""
    result = set(chosen)
    state: dict[int, bool] = {}

    def needed(number: int) -> bool:
        """Whether an operator that the set leaves out depends on constants only, or on a chosen one."""
        if number not in state:
            state[number] = False  # no way back in an acyclic graph; a wrong file does not loop here
            constant, between = True, False
            for value in reads_of(file.operators[number].node):
                maker = scope.producer.get(value)
                if maker is None:
                    constant &= scope.find("initializers", value) is not None
                elif maker in result:
                    constant, between = False, True
                elif maker in kept or not needed(maker):
                    constant = False
                else:
                    between |= not is_constant(maker)
            state[number] = constant or between
        return state[number]

    def is_constant(number: int) -> bool:
        return all(
            scope.find("initializers", value) is not None
            or (
                value in scope.producer
                and scope.producer[value] not in chosen
                and is_constant(scope.producer[value])
            )
            for value in reads_of(file.operators[number].node)
        )

    waiting = sorted(chosen)
    while waiting:
        for value in reads_of(file.operators[waiting.pop()].node):
            maker = scope.producer.get(value)
            if maker is not None and maker not in result and maker not in kept and needed(maker):
                result.add(maker)
                waiting.append(maker)
    return result


def constant_tensor(file: ModelFile, node: Any) -> Any:
    """The tensor of an operator Constant; None for all others."""
    if node.op_type != "Constant" or len(node.attribute) != 1 or node.attribute[0].name != "value":
        return None
    return node.attribute[0].t


def size_of(tensor: Any) -> int:
    """Bytes of a tensor at eight a number: an upper bound."""
    count = 8
    for dimension in tensor.dims:
        count *= dimension
    return count


def with_values(file: ModelFile, tensor: Any) -> Any:
    """The tensor with its values, which may lie in another file beside the model."""
    if tensor.data_location != file.onnx.TensorProto.EXTERNAL:
        return tensor
    loaded = file.onnx.TensorProto()
    loaded.CopyFrom(tensor)
    try:
        file.onnx.external_data_helper.load_external_data_for_tensor(loaded, str(file.path.parent))
    except Exception as error:  # onnx refuses places outside of the folder with several classes
        raise InputError(
            f"The weights of {file.path} cannot be read ({error}); put them beside it."
        ) from None
    loaded.data_location = file.onnx.TensorProto.DEFAULT
    del loaded.external_data[:]
    return loaded


def described(file: ModelFile, scope: Scope, value: str) -> Any:
    """Type and shape of a value (onnx.ValueInfoProto)."""
    known = scope.find("infos", value)
    kind = None if known is None else known.type.WhichOneof("value")
    if kind == "tensor_type" and not known.type.tensor_type.HasField("shape"):
        raise InputError(
            f"The rank of {value} in {file.path} is not known, so no valid model can end there; choose another one."
        )
    if kind is None:
        raise InputError(
            f"The type of {value} in {file.path} is not known, so no valid model can end there; choose another one."
        )
    return known
