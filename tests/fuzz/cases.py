"""Which file is damaged how, or which arguments are given; all from the seed and the number of the case."""

import random
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tests.fuzz.running import COMMANDS
from tests.fuzz.seeds import FILES, FOLDERS, PATTERNS, SPENT, commands_on, commands_with, settings_of
from tests.sources.mutations import mutated

KINDS = {"file": 35, "folder": 38, "arguments": 20, "text": 4, "interrupt": 3}  # shares in percent

STRANGE = """
-1 0 1 2 3 1.5 -0 1e3 nan inf -inf 1e308 99999999999999999999 9223372036854775808 18446744073709551616 0x10 1_000 +2
- -- .. . absent absent/below * [ Conv* {} %s $HOME ~ a,b k=v 0/0 1G 0M -1G 1s 1m 99999999999h out.csv out.npz out.txt
set other-set sample run model-frequency census.npz patterns.txt graphs.jsonl set/x
occurrences graphs disjoint coverage estimator probability frequency rand-esu nrs cpu cuda
"""
VALUES = STRANGE.split()
VALUES += [
    "",
    " ",
    "two\nlines",
    "a\tb",
    "x" * 5000,
    "\x1b[31mred\x1b[0m",
    "\u0661",
    "\u00e9",
    "\udcff",
    "\u202e",
]


@dataclass(frozen=True)
class Case:
    """One command on one damaged thing."""

    kind: str
    argv: tuple[str, ...]
    damaged: str = ""  # file or folder of the seeds that is not as it was made
    how: str = ""
    interrupt_after: float | None = None


def make_case(seed: int, number: int, folder: Path) -> Case:
    """A case, with what it damages damaged in the folder, which holds a copy of the seeds."""
    rng = random.Random(f"{seed}:{number}")
    kind = rng.choices(list(KINDS), list(KINDS.values()))[0]
    if kind == "file":
        name = rng.choice(FILES)
        path = folder / name
        path.write_bytes(mutated(path.read_bytes(), rng))
        return Case(kind, with_json(rng, rng.choice(commands_on(name))), name)
    if kind == "folder":
        name = rng.choice(FOLDERS)
        how = damage_folder(folder / name, rng)
        return Case(kind, with_json(rng, rng.choice(commands_on(name))), name, how)
    if kind == "interrupt":
        argv = rng.choice([argv for name in (*FOLDERS, *FILES) for argv in commands_on(name)])
        return Case(kind, argv, interrupt_after=rng.choice([0.0, 0.3]) * rng.random())
    if kind == "text":
        text = (
            mutated(rng.choice(PATTERNS).encode(), rng).replace(b"\0", b"").decode(errors="surrogateescape")
        )
        return Case(kind, with_json(rng, rng.choice(commands_with(text))))
    return Case(kind, hostile_arguments(rng))


def with_json(rng: random.Random, argv: tuple[str, ...]) -> tuple[str, ...]:
    return (*argv, "--json") if rng.random() < 0.8 else argv


def damage_folder(folder: Path, rng: random.Random) -> str:
    """Change, remove, empty, exchange or add one file; says what was done."""
    files = sorted(path for path in folder.rglob("*") if path.is_file())
    file, other = rng.choice(files), rng.choice(files)
    name = file.relative_to(folder)
    match rng.randrange(12):
        case 0:
            file.unlink()
            return f"{name} removed"
        case 1:
            file.write_bytes(b"")
            return f"{name} emptied"
        case 2:
            shutil.copy(other, file) if other != file else None
            return f"{name} overwritten by {other.relative_to(folder)}"
        case 3:
            file.unlink()
            file.mkdir()
            return f"{name} a folder"
        case 4:
            (folder / rng.choice(["more.npy", ".0123456789ab-x", "note.txt"])).write_bytes(b"left here")
            return "a file more"
        case _:
            file.write_bytes(mutated(file.read_bytes(), rng))
            return f"{name} mutated"


def hostile_arguments(rng: random.Random) -> tuple[str, ...]:
    """A command with some of its options, each with a value that may make no sense."""
    words: list[str] = []
    command: Any = COMMANDS
    while hasattr(command, "commands"):
        name = rng.choice(sorted(command.commands))
        words, command = [*words, name], command.commands[name]
    parameters = [p for p in command.params if p.name not in ("help", "open")]
    used = [p for p in parameters if p.param_type_name == "argument" or p.required or rng.random() < 0.15]
    strange = rng.sample(used, min(len(used), rng.choice([1, 1, 1, 2, 3])))
    argv: list[str] = []
    for parameter in used:
        if parameter.param_type_name != "argument":
            argv.append(rng.choice(parameter.opts))
        if not getattr(parameter, "is_flag", False):
            argv.append(rng.choice(VALUES) if parameter in strange else sensible(words, parameter, rng))
    if rng.random() < 0.05:
        argv.insert(
            rng.randrange(len(argv) + 1), rng.choice([*VALUES, "--nonsense", "-k", "--json", "--seed"])
        )
    if words == ["time"] and "--strategies" not in argv:
        argv += SPENT  # all of them would take minutes of compilers
    if words == ["fit"] and "--estimator" not in argv and "--set" not in argv:
        argv += rng.choice(
            [("--estimator", "frequency"), ("--preset", "fast", *settings_of("autoregressive"))]
        )
    return (*words, *argv)


def sensible(words: list[str], parameter: Any, rng: random.Random) -> str:
    """A value of the kind that the parameter wants."""
    known = {
        "graphs": "set",
        "set": "set",
        "other": "other-set",
        "sources": "graphs.jsonl",
        "samples": "sample",
        "model": "layers.onnx" if words == ["outline"] else "model-frequency",
        "patterns": "patterns.txt",
        "census": "census.npz",
        "run": rng.choice(["run", "tested-run", "layers-run"]),
        "runs": "run",
        "k": rng.choice("345"),
        "out": rng.choice(["new", "new.csv", "new.npz"]),
        "pattern": "1",
        "to": rng.choice(["dot", "json", "svg", "pytorch", "onnx"]),
        "estimator": "frequency",
        "count": "20",
        "draws": "3",
        "method": rng.choice(["search", "rand-esu", "nrs"]),
        "sampler": "nrs",
        "rank_by": rng.choice(["graphs", "disjoint", "coverage", "estimator"]),
        "preset": "fast",
        "device": "cpu",
        "memory": "1G",
        "time_budget": "5s",
        "contains": "Conv",
        "only": "*",
        "never": "Add",
        "beam": "20",
        "library": "library.txt",
        "blocks": "found-blocks",
        "costs": rng.choice(["costs.json", "costs.csv"]),
        "engine": "local",
        "strategies": "eager",
        "rounds": "2",
        "shape": "1x2x4x4",
        "start_from": "Conv -> Relu",
    }
    fallback = parameter.default if parameter.default is not None else rng.choice(["1", "2"])
    return known.get(parameter.name or "", str(fallback))
