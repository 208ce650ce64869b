"""``grade time``: a pattern of a run, or a block, under all strategies; kept in the folder for its page."""

import json
import platform
from collections.abc import Sequence
from dataclasses import asdict, dataclass
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import torch

from grade import __version__
from grade.blocks.keeping import RESULT
from grade.costs import Saving, Savings, read_costs
from grade.errors import InputError
from grade.export.shapes import sizes_from_files
from grade.files import whole_file, writable_target
from grade.machine import thread_count
from grade.progress import NEVER, Deadline, Progress
from grade.runs import RunFolder
from grade.sealed import save_json
from grade.settings import TimeSettings
from grade.timing.cases import Found, find_case
from grade.timing.measuring import Latency, chosen, measure
from grade.timing.roofline import Machine, Work, work_of
from grade.timing.strategies import Options

FOLDER = "latencies"  # of the run
APART, FUSED = (
    ("operators", "eager"),
    ("hand", "compiled"),
)  # of one layout, so that fusing is not credited with it
PACKAGES = ("torch", "triton", "onnxruntime", "apache-tvm")
FEW_GRAPHS = 50  # whose files are read for the saving of one pattern


@dataclass(frozen=True)
class Timed:
    """The measured latencies."""

    run: str
    pattern: int
    text: str
    about: str
    device: str
    threads: int
    tf32: bool
    work: Work
    machine: Machine
    latencies: list[Latency]
    saving: Saving | None  # expected
    versions: dict[str, str]

    def latency(self, names: Sequence[str]) -> Latency | None:
        """The first of these strategies that was timed."""
        timed = {each.strategy: each for each in self.latencies if each.seconds is not None}
        return next((timed[name] for name in names if name in timed), None)

    @property
    def apart(self) -> Latency | None:
        return self.latency(APART)

    @property
    def fused(self) -> Latency | None:
        """The faster of those that fuse, in the layout of the others."""
        timed = [each for each in self.latencies if each.strategy in FUSED and each.seconds is not None]
        return min(timed, key=lambda each: each.seconds or 0.0, default=None)

    @property
    def saved(self) -> float | None:
        """Seconds that fusing saves, measured, of one occurrence."""
        apart, fused = self.apart, self.fused
        if apart is None or fused is None or apart.seconds is None or fused.seconds is None:
            return None
        return apart.seconds - fused.seconds

    def data(self) -> dict[str, Any]:
        """The fields, for JSON."""
        rows = [{**each.data(), "roofline": each.share(self.machine, self.work)} for each in self.latencies]
        return {
            **{
                name: getattr(self, name) for name in ("run", "pattern", "text", "about", "device", "threads")
            },
            "tf32": self.tf32,
            "work": asdict(self.work),
            "machine": asdict(self.machine),
            "least_seconds": self.machine.least_seconds(self.work),
            "latencies": rows,
            "saved_seconds": self.saved,
            "apart": None if self.apart is None else self.apart.strategy,
            "fused": None if self.fused is None else self.fused.strategy,
            "expected_saving": None if self.saving is None else self.saving.data(),
            "versions": self.versions,
            "grade": __version__,
        }


def time_pattern(settings: TimeSettings, progress: Progress | None = None) -> Timed:
    """Measure one pattern and store the latencies in the folder of the run."""
    names, device = chosen(settings.strategies), device_of(settings.device)
    if settings.costs is not None:
        check_costs(settings.costs)
    threads = thread_count(settings.threads)
    before = torch.get_num_threads()
    torch.set_num_threads(threads)
    allowed = torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32
    torch.backends.cuda.matmul.allow_tf32 = torch.backends.cudnn.allow_tf32 = settings.tf32
    try:
        found = find_case(settings.run, settings.pattern, settings.shape, settings.pattern_only, device)
        deadline = NEVER.reporting(progress, f"time {found.text}")
        latencies, machine = measure(
            found.case, names, Options(threads, settings.trials), settings.rounds, settings.tf32, deadline
        )
    finally:
        torch.set_num_threads(before)
        torch.backends.cuda.matmul.allow_tf32, torch.backends.cudnn.allow_tf32 = allowed
    timed = Timed(
        str(settings.run),
        settings.pattern,
        found.text,
        found.case.about,
        name_of_device(device),
        threads,
        settings.tf32,
        work_of(found.case),
        machine,
        latencies,
        expected(found, deadline),
        versions(),
    )
    store(settings.run, timed)
    if settings.costs is not None and found.pattern is not None:
        write_costs(settings.costs, timed, str(found.pattern))
    return timed


def device_of(name: str) -> torch.device:
    """The device that a word means."""
    if name not in ("auto", "cpu", "cuda"):
        raise InputError(f"There is no device {name!r}; known: auto, cpu, cuda.")
    if name == "cuda" and not torch.cuda.is_available():
        raise InputError("This machine has no GPU that PyTorch can use; set `device` to cpu.")
    return torch.device("cuda" if name != "cpu" and torch.cuda.is_available() else "cpu")


def name_of_device(device: torch.device) -> str:
    if device.type == "cuda":
        return str(torch.cuda.get_device_name(device))
    try:
        lines = Path("/proc/cpuinfo").read_text().splitlines()
        return next(line.partition(":")[2].strip() for line in lines if line.startswith("model name"))
    except (OSError, StopIteration):
        return platform.processor() or platform.machine()


def versions() -> dict[str, str]:
    found = {}
    for name in PACKAGES:
        try:
            found[name] = version(name)
        except PackageNotFoundError:
            continue
    return found


def expected(found: Found, deadline: Deadline) -> Saving | None:
    """The saving of a motif by the model of bytes; None for blocks, and where the set is not at hand."""
    if found.motif is None or found.motif.saving is not None or found.graphs is None:
        return None if found.motif is None else found.motif.saving
    sizes = sizes_from_files(found.graphs, deadline)[0] if len(found.graphs) <= FEW_GRAPHS else None
    support = found.motif.support
    return Savings(found.graphs, sizes).of_pattern(found.motif.pattern, support.disjoint_quality)


def store(run: Path, timed: Timed) -> None:
    """Keep it in the folder, for `grade report`."""
    folder = run / FOLDER
    folder.mkdir(exist_ok=True)
    name = f"{FOLDER}/pattern-{timed.pattern:04}.json"
    if (run / RESULT).is_file():  # blocks
        save_json(run / name, timed.data(), name)
    else:
        RunFolder.open(run).save_json(name, timed.data())


def check_costs(path: Path) -> None:
    """Refuse a file that cannot be added to, before anything is measured."""
    writable_target(path)
    if path.suffix.lower() != ".json":
        raise InputError(f"{path} must end in .json to take costs.")
    if path.exists() and read_costs(path).unit != "seconds":
        raise InputError(f"{path} holds bytes, and seconds cannot be added to them; choose another file.")


def write_costs(path: Path, timed: Timed, text: str) -> None:
    """Add the costs of a pattern, apart and fused, to a file for `grade mine --costs`."""
    apart, fused = timed.apart, timed.fused
    if apart is None or fused is None:
        raise InputError(
            f"{path} was not written: it needs one strategy of {', '.join(APART)} and one of {', '.join(FUSED)}."
        )
    rows = []
    if path.exists():
        known = read_costs(path).entries
        rows = [
            {"pattern": name, **{k: v for k, v in asdict(c).items() if v is not None}}
            for name, c in known.items()
        ]
    rows = [row for row in rows if row["pattern"] != text]
    rows.append({"pattern": text, "apart": apart.seconds, "fused": fused.seconds})
    data = {"unit": "seconds", "bandwidth": timed.machine.bandwidth, "machine": timed.device, "costs": rows}
    with whole_file(path) as temporary:
        temporary.write_text(json.dumps(data, indent=1) + "\n")
