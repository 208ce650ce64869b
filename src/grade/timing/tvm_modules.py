"""Parts of a model compiled by Apache TVM, if it is installed (apache-tvm 0.27)."""

import importlib.util
import tempfile
from collections.abc import Callable, Sequence
from importlib.metadata import version
from typing import Any

import torch

from grade.timing.native_kernels import UnavailableError
from grade.timing.pieces import Case, Piece, in_order

TUNES_WITH = (
    "0.1.14"  # of apache-tvm-ffi: with 0.1.15, tuning by apache-tvm 0.27 ends in a segmentation fault
)


def compiled(case: Case, parts: Sequence[Sequence[Any]], trials: int, threads: int) -> Callable[[], Any]:
    """Each part as a module of its own, tuned with ``trials`` in all; run one after the other."""
    if importlib.util.find_spec("tvm") is None:
        raise UnavailableError("apache-tvm is not installed")
    import tvm
    from tvm import relax
    from tvm.relax.frontend.onnx import from_onnx

    if trials and not version("apache-tvm-ffi").startswith(TUNES_WITH):
        raise UnavailableError(
            f"tuning ends the process with apache-tvm-ffi {version('apache-tvm-ffi')}; install {TUNES_WITH}.post0"
        )
    gpu = case.device.type == "cuda"
    device = tvm.cuda() if gpu else tvm.cpu()
    if not device.exist:
        raise UnavailableError("this build of TVM has no CUDA")
    target = tvm.target.Target.from_device(device) if gpu else cpu_target(tvm, threads)
    each = max(trials // max(len(parts), 1), 1) if trials else 0
    pieces = []
    for nodes in parts:
        model = case.submodel(nodes)
        module = from_onnx(model, keep_params_in_input=False)
        module = module[0] if isinstance(module, tuple) else module
        if each:
            with tempfile.TemporaryDirectory() as folder, target:
                tune = relax.get_pipeline(
                    "static_shape_tuning", total_trials=each, target=target, work_dir=folder
                )
                module = tune(module)
        program = tvm.compile(module, target=target)
        run = relax.VirtualMachine(program, device)["main"]
        reads = tuple(info.name for info in model.graph.input)
        writes = tuple(info.name for info in model.graph.output)
        pieces.append(Piece(run, reads, writes, tuple(node.op_type for node in nodes)))
    call = in_order([as_tuples(piece) for piece in pieces], list(case.inputs), case.outputs)
    given = [tvm.runtime.from_dlpack(tensor.contiguous()) for tensor in case.inputs.values()]
    return lambda: call(*given)


def as_tuples(piece: Piece) -> Piece:
    """TVM returns an array for several results."""
    if len(piece.writes) == 1:
        return piece
    return Piece(lambda *given: tuple(piece.call(*given)), piece.reads, piece.writes, piece.operators)


def cpu_target(tvm: Any, threads: int) -> Any:
    return tvm.target.Target({"kind": "llvm", "num-cores": threads, "mcpu": host_processor(tvm)})


def host_processor(tvm: Any) -> str:
    """The processor as LLVM names it, so that its vector units are used."""
    found = tvm.get_global_func("target.llvm_get_system_cpu", allow_missing=True)
    return str(found()) if found is not None else "x86-64-v3"


def tensors(results: Sequence[Any]) -> list[torch.Tensor]:
    """TVM's results as PyTorch's."""
    return [torch.from_numpy(result.numpy().copy()) for result in results]
