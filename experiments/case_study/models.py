"""Whole models: the blocks compiled once and reused, against the model compiled as one.

    python experiments/case_study/models.py FOLDER [--device cpu]      # FOLDER is that of collect.py

Each model of settings.toml is written as PyTorch source by `grade outline --to pytorch`, a class for each block that
repeats. Then, each in a process of its own with empty caches: the model as it is; every block compiled by itself, one
compilation serving all of its occurrences (regional compilation); the whole model compiled. Outputs are compared with
those of the model as it is. A line for each model is added to results/models-DEVICE.jsonl.
"""

import argparse
import json
import os
import resource
import subprocess
import sys
import tempfile
import time
import tomllib
import types
from collections import Counter
from pathlib import Path
from statistics import median, quantiles
from typing import Any

import onnx
import torch

from grade.errors import InputError
from grade.export.outlines import write_outline
from grade.settings import OutlineSettings
from grade.timing.cases import example_value
from grade.timing.latencies import device_of
from grade.timing.measuring import difference
from grade.timing.roofline import synchronise

HERE = Path(__file__).parent
WAYS = ("eager", "blocks", "whole")
LIMIT = 600  # seconds for one way


def loaded(source: Path, path: Path) -> tuple[torch.nn.Module, set[type]]:
    """The model with its weights, and the classes of its blocks."""
    made = types.ModuleType(source.stem)
    exec(compile(source.read_text(), str(source), "exec"), made.__dict__)  # written by grade.export
    classes = {
        kind
        for name, kind in vars(made).items()
        if name != "Model" and isinstance(kind, type) and issubclass(kind, torch.nn.Module)
    }
    return made.load(str(path)), classes


def outermost(model: torch.nn.Module, classes: set[type]) -> list[torch.nn.Module]:
    """The occurrences of blocks that repeat and that lie in no other.

    >>> line = lambda: torch.nn.Sequential(torch.nn.Linear(2, 2), torch.nn.ReLU())
    >>> model = torch.nn.Sequential(line(), line())
    >>> len(outermost(model, {torch.nn.Sequential, torch.nn.ReLU}))
    2
    """
    counts = Counter(type(module) for module in model.modules() if module is not model)
    repeated = {kind for kind in classes if counts[kind] > 1}
    found: list[torch.nn.Module] = []

    def walk(module: torch.nn.Module) -> None:
        for child in module.children():
            if type(child) in repeated:
                found.append(child)
            else:
                walk(child)

    walk(model)
    return found


def inputs_of(path: Path) -> list[torch.Tensor]:
    model = onnx.load(path, load_external_data=False)
    weights = {tensor.name for tensor in model.graph.initializer}
    torch.manual_seed(0)
    return [example_value(info) for info in model.graph.input if info.name not in weights]


def one_way(source: Path, path: Path, way: str, device: torch.device, rounds: int) -> dict[str, Any]:
    """Seconds until the first result, then of each run. Loading is not counted. On a CPU also processor seconds, which
    hold on a busy machine, too: of this process and of the compilers that it started.
    """
    model, classes = loaded(source, path)
    model = model.to(device)
    given = [tensor.to(device) for tensor in inputs_of(path)]
    regions = outermost(model, classes)
    with torch.inference_mode():
        expected = model(*given)
        synchronise(device)
        run: Any = model
        begin, worked = time.perf_counter(), processor_seconds()
        if way == "whole":
            run = torch.compile(model, dynamic=False)
        elif way == "blocks":
            for region in regions:
                region.compile(dynamic=False)
        results = run(*given)
        synchronise(device)
        first, first_processor = time.perf_counter() - begin, processor_seconds() - worked
        samples, processor = [], []
        for number in range(rounds + 2):
            synchronise(device)
            begin, worked = time.perf_counter(), processor_seconds()
            run(*given)
            synchronise(device)
            if number > 1:
                samples.append(time.perf_counter() - begin)
                processor.append(processor_seconds() - worked)
    low, _, high = quantiles(samples, n=4)
    from torch._dynamo.utils import counters

    return {
        "first": first,
        "first_processor": first_processor,
        "latency": median(samples),
        "latency_processor": median(processor),
        "low": low,
        "high": high,
        "graphs": int(counters["stats"]["unique_graphs"]),
        "regions": len(regions),
        "classes": len({type(region) for region in regions}),
        "covered": sum(p.numel() for r in regions for p in r.parameters()),
        "parameters": sum(p.numel() for p in model.parameters()),
        "difference": difference(tensors(results), tensors(expected)),
    }


def processor_seconds() -> float:
    """Of this process and its children that have ended."""
    own, others = (resource.getrusage(who) for who in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN))
    return own.ru_utime + own.ru_stime + others.ru_utime + others.ru_stime


def tensors(results: Any) -> list[torch.Tensor]:
    return [results] if isinstance(results, torch.Tensor) else list(results)


def separately(source: Path, path: Path, way: str, arguments: argparse.Namespace) -> dict[str, Any]:
    """One way in a process of its own."""
    with tempfile.TemporaryDirectory() as cache:
        command = [sys.executable, __file__, str(path), "--source", str(source), "--way", way]
        command += ["--device", arguments.device, "--threads", str(arguments.threads)]
        command += ["--rounds", str(arguments.rounds)]
        settings = {"TORCHINDUCTOR_CACHE_DIR": cache, "TORCHINDUCTOR_FX_GRAPH_CACHE": "0"}
        settings["TORCHINDUCTOR_COMPILE_THREADS"] = "1"  # in this process, so that its seconds can be counted
        try:
            done = subprocess.run(
                command,
                env={**os.environ, **settings},
                capture_output=True,
                text=True,
                check=False,
                timeout=LIMIT,
            )
        except subprocess.TimeoutExpired:
            return {"reason": f"not done after {LIMIT} s"}
    if done.returncode:
        return {"reason": done.stderr.strip().splitlines()[-1][:300]}
    return dict(json.loads(done.stdout.splitlines()[-1]))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("folder", type=Path)
    parser.add_argument("--device", default="cpu")
    parser.add_argument("--threads", type=int, default=os.cpu_count())
    parser.add_argument("--rounds", type=int, default=20)
    parser.add_argument("--out", type=Path, default=HERE / "results")
    parser.add_argument("--only", help="names of models, separated by commas")
    parser.add_argument("--source", type=Path, help=argparse.SUPPRESS)
    parser.add_argument("--way", help=argparse.SUPPRESS)
    arguments = parser.parse_args()
    try:
        device = device_of(arguments.device)
    except InputError as error:
        raise SystemExit(str(error)) from None
    if arguments.way:
        torch.set_num_threads(arguments.threads)
        row = one_way(arguments.source, arguments.folder, arguments.way, device, arguments.rounds)
        print(json.dumps(row))
        return
    from run import where

    names = tomllib.loads((HERE / "settings.toml").read_text())["whole_models"]["names"]
    arguments.out.mkdir(parents=True, exist_ok=True)
    target = arguments.out / f"models-{device.type}.jsonl"
    done = (
        {json.loads(line)["model"] for line in target.read_text().splitlines()} if target.exists() else set()
    )
    for name in arguments.only.split(",") if arguments.only else names:
        if name in done:
            continue
        path = arguments.folder / f"{name}.onnx"
        with tempfile.TemporaryDirectory() as folder:
            source = Path(folder) / f"{name}.py"
            begin = time.perf_counter()
            outlined = write_outline(OutlineSettings(model=path, out=source, to="pytorch"))
            seconds = time.perf_counter() - begin
            ways = {way: separately(source, path, way, arguments) for way in WAYS}
        row = {
            "model": name,
            "operators": len(outlined.onnx_graph.nodes),
            "outline_seconds": seconds,
            **ways,
            **where(device, arguments.threads),
        }
        with target.open("a") as file:
            file.write(json.dumps(row) + "\n")
        print(row, flush=True)


if __name__ == "__main__":
    main()
