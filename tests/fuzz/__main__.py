"""Damages files, folders and arguments, runs commands on them, and judges how they end.

Run: make fuzz, or python -m tests.fuzz [--cases N] [--seed S] [--jobs J] [--only NUMBER] [--results FILE]
Long runs in pieces: with --state FILE --minutes M a run stops after M minutes, and goes on when it is repeated.

Every command must end with exit code 0, 2 or 130 (1 where the machine fails), without a traceback, without
leaving half a file, within limits of memory and time. A refusal is one sentence that names what is damaged. What
carries checksums is refused or made again, or gives the very result that it gives undamaged. A case follows from
the seed and its number alone.
"""

import argparse
import gc
import importlib
import io
import json
import os
import pkgutil
import re
import shutil
import sys
import tempfile
import time
import traceback
from collections.abc import Iterator, Sequence
from contextlib import redirect_stdout, suppress
from dataclasses import asdict, dataclass, field
from pathlib import Path
from typing import Any

import torch

import grade
from grade.errors import InputError
from grade.files import whole_file
from tests.fuzz.cases import Case, make_case
from tests.fuzz.running import COMMANDS, Ending, run
from tests.fuzz.seeds import FILES, FOLDERS, commands_on, make_seeds

PIECE = 100  # cases between two looks at the clock
LONG_PATIENCE = 100  # seconds of processor time for a command on what is whole
MOST_RESIDENT = 2 << 30  # bytes
SEALED = (*FOLDERS, "census.npz", "census.parquet")  # what carries checksums
SLOW = (
    "torch._dynamo",
    "rich.console",
    "rich.progress",
    "rich.table",
    "rich.markup",
    "networkx",
    "xml.etree.ElementTree",
)
TEMPORARY = re.compile(r"\.[0-9a-f]{12}-")
VOLATILE = (
    "seconds",
    "timings",
    "threads",
    "memory",
    "peak_memory",
    "latencies",
    "machine",
    "roofline",
    "least_seconds",
    "saved_seconds",
)  # keys of JSON that differ from run to run


def faults(case: Case, ending: Ending, folder: Path, before: set[Path], expected: Any) -> list[str]:
    """What is wrong with the way in which a command ended; empty if nothing is."""
    found = []
    lines = ending.err.splitlines()
    if ending.hung:
        found.append("waits for nothing")
    elif ending.code < 0:
        found.append(f"killed by signal {-ending.code}" + (" after its time" if ending.interrupted else ""))
    elif ending.code not in (0, 2, 130):
        found.append(f"exit code {ending.code}")
    if "Traceback" in ending.err or re.search(r"\w+(Warning|Error): ", ending.err):
        found.append("a traceback or a warning for programmers")
    if ending.code == 130 and not ending.interrupted:
        found.append("interrupted by nobody")
    if re.search(r"[\x00-\x08\x0b-\x1f\x7f-\x9f]", ending.err + ending.out):
        found.append("control characters in the output")
    if ending.memory > MOST_RESIDENT:
        found.append(f"{ending.memory >> 20} MiB")
    if ending.code == 2 and case.kind == "interrupt":
        found.append("refused, though nothing is damaged")
    if ending.code == 2:
        if not lines or not re.fullmatch(
            r"grade: .*[.?]( See '.*' --help'\.| See '.* --help'\.)?", lines[-1]
        ):
            found.append("no sentence")
        if sum(not line.startswith("grade: ") for line in lines):
            found.append("more than sentences")
        if ending.out and "--json" in case.argv:
            found.append("a result beside a refusal")
        if case.damaged and case.kind != "arguments" and case.damaged not in ending.err:
            found.append("does not name what is damaged")
        left = set(folder.rglob("*")) - before
        if left and case.argv[:2] != ("graphs", "build") and case.argv[0] not in ("mine", "fit"):
            found.append(f"left {sorted(str(path.relative_to(folder)) for path in left)[:3]}")
    if ending.code in (0, 2) and any(TEMPORARY.match(p.name) for p in set(folder.rglob(".*")) - before):
        found.append("a temporary file is left")
    if ending.code == 0 and "--json" in case.argv:
        try:
            answer = json.loads(ending.out)
        except ValueError:
            found.append("not one JSON object")
        else:
            sealed = case.damaged in SEALED and not case.how.startswith("names.json")  # people write there
            if sealed and case.argv[0] != "graphs" and steady(answer) != expected:
                found.append("another result")
    return found


def steady(answer: Any) -> Any:
    """A JSON result without what differs from run to run."""
    if isinstance(answer, dict):
        return {name: steady(value) for name, value in answer.items() if name not in VOLATILE}
    return [steady(value) for value in answer] if isinstance(answer, list) else answer


class Fuzzer:
    """Runs cases on copies of the seeds."""

    def __init__(self, seeds: Path, seed: int, scratch: Path) -> None:
        self.seeds, self.seed, self.scratch = seeds, seed, scratch
        self.results: dict[tuple[str, ...], Any] = {}  # of undamaged commands

    def copied(self, name: str) -> Path:
        folder = self.scratch / name
        shutil.rmtree(folder, ignore_errors=True)
        shutil.copytree(self.seeds, folder)
        return folder

    def expected(self, argv: tuple[str, ...]) -> Any:
        """The result of a command on what is whole; None for one that prints text."""
        if "--json" not in argv:
            return None
        if argv not in self.results:
            ending = run(argv, self.copied(f"whole-{os.getpid()}"), patience=LONG_PATIENCE)
            assert ending.code == 0, (argv, ending)
            self.results[argv] = steady(json.loads(ending.out))
        return self.results[argv]

    def try_one(self, number: int) -> dict[str, Any]:
        folder = self.copied(f"case-{os.getpid()}")
        case = make_case(self.seed, number, folder)
        before = set(folder.rglob("*"))
        expected = self.expected(case.argv) if case.damaged in SEALED else None
        begin = time.monotonic()
        ending = run(case.argv, folder, case.interrupt_after)
        return {
            "number": number,
            "kind": case.kind,
            "outcome": {0: "done", 2: "refused", 130: "interrupted"}.get(ending.code, "other"),
            "faults": faults(case, ending, folder, before, expected),
            "words": f"{' '.join(case.argv)[:500]!r}; {case.damaged} {case.how}; {ending.err.strip()[-700:]!r}",
            "seconds": time.monotonic() - begin,
        }

    def work_through(self, numbers: Sequence[int], jobs: int) -> Iterator[dict[str, Any]]:
        """The results of cases in any order. The workers are bare forks, so that commands may start processes."""
        reading, writing = os.pipe()
        workers = []
        for job in range(jobs):
            worker = os.fork()
            if worker == 0:
                code = 1
                try:
                    for number in numbers[job::jobs]:
                        os.write(writing, json.dumps(self.try_one(number)).encode() + b"\n")
                    code = 0
                except BaseException:
                    traceback.print_exc()
                finally:
                    os._exit(code)
            workers.append(worker)
        os.close(writing)
        with os.fdopen(reading, encoding="utf-8") as lines:
            for line in lines:
                yield json.loads(line)
        for worker in workers:
            if os.waitpid(worker, 0)[1]:
                raise RuntimeError("a worker of the harness failed")


@dataclass
class Record:
    """What came of the cases so far, for a run in pieces."""

    seed: int
    done: int = 0
    minutes: float = 0.0
    failures: int = 0
    slowest: float = 0.0
    totals: dict[str, int] = field(default_factory=dict)  # by "kind outcome"

    @classmethod
    def load(cls, path: Path | None, seed: int) -> "Record":
        record = cls(**json.loads(path.read_text())) if path is not None and path.is_file() else cls(seed)
        if record.seed != seed:
            raise SystemExit(f"{path} is of seed {record.seed}, not {seed}; name another file.")
        return record

    def save(self, path: Path | None) -> None:
        if path is not None:
            with whole_file(path) as temporary:
                temporary.write_text(json.dumps(asdict(self)))

    def add(self, result: dict[str, Any]) -> None:
        self.done += 1
        self.failures += bool(result["faults"])
        self.slowest = max(self.slowest, result["seconds"])
        key = f"{result['kind']} {result['outcome']}"
        self.totals[key] = self.totals.get(key, 0) + 1

    def summary(self) -> list[str]:
        lines = [
            f"{self.done:,} cases of seed {self.seed} in {self.minutes:.1f} minutes: {self.failures} failures."
            f" The slowest took {self.slowest:.1f} s.",
            "",
            "| damaged | done | refused | interrupted | other |",
            "|---|---|---|---|---|",
        ]
        for kind in sorted({key.split()[0] for key in self.totals}):
            outcomes = ("done", "refused", "interrupted", "other")
            counts = [self.totals.get(f"{kind} {outcome}", 0) for outcome in outcomes]
            lines.append(f"| {kind} | {' | '.join(f'{count:,}' for count in counts)} |")
        return lines


def import_all() -> None:
    """Everything that commands import when they need it, once, before the forks."""
    for name in (
        "onnx",
        "pyarrow.parquet",
        "scipy.stats",
        "defusedxml.ElementTree",
        "sqlite3",
        "jinja2",
        *SLOW,
    ):
        importlib.import_module(name)
    for module in pkgutil.walk_packages(grade.__path__, "grade."):
        if not module.name.endswith("__main__"):
            importlib.import_module(module.name)
    for argv in (["--help"], ["graphs", "info", "absent"]):
        with redirect_stdout(io.StringIO()), suppress(InputError):
            COMMANDS(argv, standalone_mode=False)
    gc.freeze()


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--cases", type=int, default=1000)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--jobs", type=int, default=2)
    parser.add_argument("--only", type=int, nargs="*", help="numbers of the cases to run")
    parser.add_argument("--state", type=Path, help="file that a run in pieces goes on from")
    parser.add_argument("--minutes", type=float, default=float("inf"), help="with --state: length of a piece")
    parser.add_argument("--results", type=Path, help="write a summary to this file")
    arguments = parser.parse_args()
    torch.set_num_threads(1)
    import_all()
    begin = time.monotonic()
    root = Path(tempfile.mkdtemp(prefix="grade-fuzz-", dir="/dev/shm" if Path("/dev/shm").is_dir() else None))
    record = Record.load(arguments.state, arguments.seed)
    minutes_before = record.minutes
    try:
        (root / "seeds").mkdir()

        def make(*argv: str) -> None:
            ending = run(argv, root / "seeds", patience=LONG_PATIENCE)
            assert ending.code == 0, (argv, ending)

        make_seeds(root / "seeds", make)
        fuzzer = Fuzzer(root / "seeds", arguments.seed, root)
        for argv in {argv for name in (*FOLDERS, *FILES) for argv in commands_on(name)}:
            fuzzer.expected((*argv, "--json"))  # also a check that every command works on what is whole
        numbers = arguments.only or range(record.done, arguments.cases)
        for start in range(0, len(numbers), PIECE):
            for result in fuzzer.work_through(numbers[start : start + PIECE], arguments.jobs):
                record.add(result)
                if result["faults"] or arguments.only:
                    name = f"case {result['number']} ({result['kind']}, {result['outcome']})"
                    print(f"{name}: {', '.join(result['faults'])}; {result['words']}", flush=True)
            passed = (time.monotonic() - begin) / 60
            record.minutes = minutes_before + passed
            record.save(arguments.state)
            if passed > arguments.minutes:
                break
    finally:
        shutil.rmtree(root, ignore_errors=True)
    summary = record.summary()
    print("\n".join(summary))
    if arguments.results:
        command = f"python -m tests.fuzz --cases {arguments.cases} --seed {arguments.seed}"
        head = f"# Damaged files, folders and arguments\n\n`{command}`: "
        arguments.results.write_text(head + "\n".join(summary) + "\n", encoding="utf-8")
    return 1 if record.failures else 0


if __name__ == "__main__":
    sys.exit(main())
