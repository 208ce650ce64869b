"""The strategies: ways to run the same case. Each is a function that makes it ready, or says why it cannot."""

import importlib.util
from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import torch

from grade.costs.value_sizes import VIEWS
from grade.timing import tvm_modules
from grade.timing.fusing import fuse, partition
from grade.timing.native_kernels import UnavailableError, compiler
from grade.timing.pieces import Case, Piece, in_order


@dataclass(frozen=True)
class Ready:
    """A strategy that can run: a call without arguments, and its results as tensors."""

    run: Callable[[], Any]
    tensors: Callable[[Any], list[torch.Tensor]]
    detail: str = ""


@dataclass(frozen=True)
class Options:
    threads: int
    trials: int = 0  # of TVM's tuning


@dataclass(frozen=True)
class Strategy:
    """One way to run a case."""

    title: str
    make: Callable[[Case, Options], Ready]
    fused: bool = True  # operators may run as one


def as_list(result: Any) -> list[torch.Tensor]:
    return list(result) if isinstance(result, tuple | list) else [result]


def ready(call: Callable[..., Any], case: Case, channels_last: bool = False, detail: str = "") -> Ready:
    """A function of tensors with the inputs of the case."""
    given = [laid_out(tensor, channels_last) for tensor in case.inputs.values()]
    return Ready(lambda: call(*given), as_list, detail)


def laid_out(tensor: torch.Tensor, channels_last: bool) -> torch.Tensor:
    last = channels_last and tensor.dim() == 4
    return tensor.contiguous(memory_format=torch.channels_last if last else torch.contiguous_format)


def whole(case: Case, channels_last: bool) -> Any:
    """The module of all operators; its results in the order of the case."""
    module: Any = case.piece(case.nodes, case.outputs).call
    if channels_last:
        if not any(tensor.dim() == 4 for tensor in case.inputs.values()):
            raise UnavailableError("no input is an image")
        module = module.to(memory_format=torch.channels_last)
    return module


def eager(case: Case, options: Options) -> Ready:
    return ready(whole(case, False), case)


def eager_channels_last(case: Case, options: Options) -> Ready:
    return ready(whole(case, True), case, True)


def inductor(call: Any) -> Any:
    """Compiled with frozen weights, as for inference."""
    compiler()
    from torch._inductor import config

    made: Any = torch.compile(call, dynamic=False)

    def run(*given: torch.Tensor) -> Any:
        if not run_before:
            with config.patch(freezing=True):
                run_before.append(True)
                return made(*given)
        return made(*given)

    run_before: list[bool] = []
    return run


def operators_alone(case: Case, options: Options) -> Ready:
    """Every operator compiled by itself: the best that no fusion can do."""
    pieces = []
    for nodes in case.single_pieces():
        piece = case.piece(nodes)
        call = piece.call if nodes[0].op_type in VIEWS else inductor(piece.call)
        pieces.append(Piece(call, piece.reads, piece.writes, piece.operators))
    call = in_order(pieces, list(case.inputs), case.outputs)
    return ready(call, case, detail=f"{len(pieces)} calls")


def by_hand(case: Case, options: Options) -> Ready:
    fused = fuse(case)
    return ready(fused.call, case, detail=described(fused.parts, fused.rules))


def by_hand_channels_last(case: Case, options: Options) -> Ready:
    if not any(node.op_type == "Conv" for node in case.nodes):
        raise UnavailableError("it has no convolution")
    fused = fuse(case, channels_last=True)
    return ready(fused.call, case, True, described(fused.parts, fused.rules))


def described(parts: list[list[Any]], rules: list[str]) -> str:
    return f"{len(parts)} calls; {', '.join(rules)}"


def compiled(case: Case, options: Options) -> Ready:
    return ready(inductor(whole(case, False)), case)


def compiled_channels_last(case: Case, options: Options) -> Ready:
    return ready(inductor(whole(case, True)), case, True)


def onnxruntime(case: Case, options: Options, optimised: bool) -> Ready:
    if importlib.util.find_spec("onnxruntime") is None:
        raise UnavailableError("onnxruntime is not installed")
    import onnxruntime as ort

    gpu = case.device.type == "cuda"
    if gpu and "CUDAExecutionProvider" not in ort.get_available_providers():
        raise UnavailableError("this onnxruntime has no CUDA")
    settings = ort.SessionOptions()
    levels = ort.GraphOptimizationLevel
    settings.graph_optimization_level = levels.ORT_ENABLE_ALL if optimised else levels.ORT_DISABLE_ALL
    settings.intra_op_num_threads, settings.inter_op_num_threads = options.threads, 1
    settings.log_severity_level = 4
    content = case.submodel(case.nodes, case.outputs).SerializeToString()
    providers = ["CUDAExecutionProvider", "CPUExecutionProvider"] if gpu else ["CPUExecutionProvider"]
    session = ort.InferenceSession(content, settings, providers=providers)
    feeds = {name: tensor.cpu().numpy() for name, tensor in case.inputs.items()}
    wanted = list(case.outputs)
    if not gpu:
        named = {i.name: feeds[i.name] for i in session.get_inputs()}
        return Ready(lambda: session.run(wanted, named), from_numpy)
    binding = session.io_binding()  # tensors stay on the device
    for info in session.get_inputs():
        binding.bind_ortvalue_input(info.name, ort.OrtValue.ortvalue_from_numpy(feeds[info.name], "cuda", 0))
    for name in wanted:
        binding.bind_output(name, "cuda")

    def run() -> Any:
        session.run_with_iobinding(binding)
        return binding

    return Ready(run, lambda bound: from_numpy(bound.copy_outputs_to_cpu()))


def from_numpy(arrays: Any) -> list[torch.Tensor]:
    return [torch.from_numpy(array.copy()) for array in arrays]


def tvm_operators(case: Case, options: Options) -> Ready:
    run = tvm_modules.compiled(case, case.single_pieces(), options.trials, options.threads)
    return Ready(run, tvm_modules.tensors, tuned(options))


def tvm_by_hand(case: Case, options: Options) -> Ready:
    parts, rules = partition(case)
    if not rules:
        raise UnavailableError("no rule fits its operators")
    run = tvm_modules.compiled(case, parts, options.trials, options.threads)
    return Ready(run, tvm_modules.tensors, tuned(options))


def tvm_whole(case: Case, options: Options) -> Ready:
    run = tvm_modules.compiled(case, [case.nodes], options.trials, options.threads)
    return Ready(run, tvm_modules.tensors, tuned(options))


def tuned(options: Options) -> str:
    return f"{options.trials} trials" if options.trials else "not tuned"


STRATEGIES = {
    "eager": Strategy("PyTorch, operator by operator", eager, fused=False),
    "eager-nhwc": Strategy("the same, channels last", eager_channels_last, fused=False),
    "operators": Strategy("each operator compiled alone", operators_alone, fused=False),
    "hand": Strategy("fused by hand", by_hand),
    "hand-nhwc": Strategy("the same, channels last", by_hand_channels_last),
    "compiled": Strategy("compiled as one (inductor)", compiled),
    "compiled-nhwc": Strategy("the same, channels last", compiled_channels_last),
    "ort-plain": Strategy(
        "onnxruntime, no optimisation", lambda case, options: onnxruntime(case, options, False), fused=False
    ),
    "ort": Strategy("onnxruntime", lambda case, options: onnxruntime(case, options, True)),
    "tvm-operators": Strategy("TVM, operator by operator", tvm_operators, fused=False),
    "tvm-hand": Strategy("TVM, fused by hand", tvm_by_hand),
    "tvm": Strategy("TVM, as one", tvm_whole),
}
