"""Latencies of the paper's cases, of motifs that only move bytes, and of those on which fusing would gain most.

    python experiments/case_study/run.py --device cpu                # the tables of a CPU
    python experiments/case_study/run.py --device cuda --seconds 270 # those of a GPU, as many as the time allows
    python experiments/case_study/tables.py                          # the page

Every case is timed as `grade time` does it: the results of all strategies are compared first. A line is added to
results/DEVICE.jsonl as soon as a case is done; cases that are there already are left out. Needs no other step: what
find.py cut out of models lies in cutouts/.
"""

import argparse
import gc
import json
import os
import subprocess
import sys
import time
import tomllib
from collections.abc import Callable, Iterator
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import Any

import torch

from grade.errors import InputError
from grade.machine import thread_count
from grade.timing.latencies import device_of, name_of_device, versions
from grade.timing.measuring import chosen, measure
from grade.timing.pieces import Case
from grade.timing.roofline import work_of
from grade.timing.strategies import Options

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

from cases import MOVING, PAPER, cut_case, made_case  # noqa: E402 (after the path is set)

SHORTEST = 15  # seconds that must be left to begin a case


@dataclass(frozen=True)
class Item:
    """A case to time, and with which strategies."""

    part: str  # paper, moving, patterns or blocks
    name: str
    make: Callable[[torch.device], Case]
    strategies: tuple[str, ...]
    tf32: bool = False
    trials: int = 0

    @property
    def key(self) -> tuple[str, str, bool, int]:
        return self.part, self.name, self.tf32, self.trials


def items(settings: dict[str, Any], device: torch.device, trials: int) -> Iterator[Item]:
    """All cases in the order in which they are worth the time."""
    sizes, lists = settings[device.type], settings["strategies"]
    gpu = device.type == "cuda"

    def made(part: str, name: str, strategies: list[str]) -> Item:
        return Item(part, name, lambda on: made_case(name, sizes, on), tuple(strategies), tf32=gpu)

    wanted = lists["paper"] + ([] if gpu else lists["elsewhere"])
    first = [replace(made("paper", name, wanted), trials=trials) for name in PAPER]
    moving = [made("moving", name, lists["moving"]) for name in MOVING]
    yield first[0]
    yield from moving[:2]
    yield from first[1:]
    yield from moving[2:]
    yield from cut_items(settings, sizes["batch"], gpu)
    if gpu:  # once more without TF32; operators alone take long to make ready
        quick = tuple(name for name in wanted if name != "operators")
        yield from (replace(item, tf32=False, strategies=quick) for item in first)


def cut_items(settings: dict[str, Any], batch: int, gpu: bool) -> Iterator[Item]:
    """Patterns and blocks in turns, the largest saving first."""
    for path in sorted((HERE / "cutouts").glob("*.onnx"), key=lambda path: path.stem.split("-")[::-1]):
        lists = settings["strategies"]
        names = lists["paper"] if gpu else lists["paper"] + ["ort-plain", "ort"]

        def make(device: torch.device, path: Path = path) -> Case:
            return cut_case(path, batch, device)

        part = path.stem.split("-")[0] + "s"
        skipped = "operators" if gpu else ""
        yield Item(part, path.stem, make, tuple(n for n in names if n != skipped), tf32=gpu)


def timed(item: Item, device: torch.device, threads: int, rounds: int) -> dict[str, Any]:
    """One line of the results."""
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = item.tf32
    begin = time.perf_counter()
    case = item.make(device)
    latencies, machine = measure(
        case, chosen(",".join(item.strategies)), Options(threads, item.trials), rounds, item.tf32
    )
    work = work_of(case)
    rows = [{**each.data(), "roofline": each.share(machine, work)} for each in latencies]
    return {
        "part": item.part,
        "case": item.name,
        "about": case.about,
        "operators": [node.op_type for node in case.nodes],
        "tf32": item.tf32,
        "trials": item.trials,
        "work": asdict(work),
        "machine": asdict(machine),
        "least_seconds": machine.least_seconds(work),
        "latencies": rows,
        "spent": round(time.perf_counter() - begin, 1),
    }


def where(device: torch.device, threads: int) -> dict[str, Any]:
    """Machine, commit and versions."""
    found = subprocess.run(
        ["git", "rev-parse", "--short", "HEAD"], cwd=HERE, capture_output=True, text=True, check=False
    )
    commit = os.environ.get("GRADE_COMMIT") or found.stdout.strip()
    load = os.getloadavg()[0]
    about = {"device": name_of_device(device), "threads": threads, "processors": os.cpu_count()}
    return {**about, "load": round(load, 1), "commit": commit, "versions": versions()}


def known_keys(path: Path) -> set[tuple[Any, ...]]:
    if not path.exists():
        return set()
    rows = [json.loads(line) for line in path.read_text().splitlines()]
    return {(row["part"], row["case"], row["tf32"], row["trials"]) for row in rows}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--device", default="auto", help="cpu, cuda or auto")
    parser.add_argument(
        "--seconds", type=float, default=float("inf"), help="no case is begun near this limit"
    )
    parser.add_argument("--threads", type=int)
    parser.add_argument(
        "--trials", type=int, default=0, help="of TVM's tuning, for each strategy of A, B and C"
    )
    parser.add_argument("--only", help="parts, separated by commas: paper, moving, patterns, blocks")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    arguments = parser.parse_args()
    end = time.monotonic() + arguments.seconds
    settings = tomllib.loads((HERE / "settings.toml").read_text())
    try:
        device, threads = device_of(arguments.device), thread_count(arguments.threads)
    except InputError as error:
        raise SystemExit(str(error)) from None
    torch.set_num_threads(threads)
    arguments.out.mkdir(parents=True, exist_ok=True)
    target = arguments.out / f"{device.type}.jsonl"
    done = known_keys(target)
    for item in items(settings, device, arguments.trials):
        left = end - time.monotonic()
        if left < SHORTEST:
            print(f"left out for lack of time: {item.part} {item.name}", flush=True)
            continue
        if item.key in done or (arguments.only and item.part not in arguments.only.split(",")):
            continue
        try:
            row = timed(item, device, threads, settings[device.type]["rounds"])
        except Exception as error:  # one case must not cost the others
            print(f"{item.part} {item.name}: {type(error).__name__}: {str(error)[:500]}", flush=True)
            continue
        with target.open("a") as file:
            file.write(json.dumps({**row, **where(device, threads)}) + "\n")
        shown = [f"{r['strategy']} {1e3 * r['seconds']:.3f}" for r in row["latencies"] if r["seconds"]]
        missing = [f"{r['strategy']}: {r['reason']}" for r in row["latencies"] if not r["seconds"]]
        print(
            f"{item.part} {item.name} ({row['spent']} s): {', '.join(shown)} ms",
            *missing,
            sep="; ",
            flush=True,
        )
        gc.collect()
        if device.type == "cuda":
            torch.cuda.empty_cache()


if __name__ == "__main__":
    main()
