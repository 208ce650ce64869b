"""Fuzzes the readers in one process, guided by the lines that a file reaches: libFuzzer through Atheris.

Run: python -m tests.fuzz.guided [--seconds S] [TARGET ...]; needs `pip install atheris`, which nothing else does.

A target takes bytes, puts them where its reader reads, and lets it read. Whatever the bytes: the reader returns, or
refuses them in one sentence that names the file. Where checksums stand before the reader, they are made to fit, as who
forges a file would do.
"""

import argparse
import importlib
import inspect
import json
import re
import shutil
import subprocess
import sys
import tempfile
import zipfile
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import numpy as np

MOST_SECONDS, MOST_MEBIBYTES = 20, 3000  # of one input
FILES = {
    "onnx": ("branching.onnx", "layers.onnx", "light.onnx"),
    "jsonl": ("graphs.jsonl",),
    "graphml": ("graph.graphml",),
    "edges": ("graph.edges",),
    "verilog": ("circuit.v",),
    "bench": ("circuit.bench",),
    "younger": ("younger.pkl",),
}  # of the seeds, by target
Corpus = list[bytes]
Target = Callable[[Path], tuple[Corpus, Callable[[bytes], Any]]]


def check_sentence(error: Exception, path: Path) -> None:
    """A refusal names the file or folder, and ends as sentences do."""
    assert str(path) in str(error), error
    assert str(error).endswith("."), error
    assert "\n" not in str(error), error


def reading(name: str) -> Target:
    """The reader of files with the suffix of the seeds."""

    def make(folder: Path) -> tuple[Corpus, Callable[[bytes], Any]]:
        from grade.errors import InputError
        from grade.settings import ReadSettings
        from grade.sources.readers import Item, item_of

        path = folder / f"input{Path(FILES[name][0]).suffix}"
        item = Item("younger", str(path)) if name == "younger" else item_of(path)
        settings = ReadSettings()

        def read(data: bytes) -> None:
            path.write_bytes(data)
            try:
                for graphs in item.read(settings):
                    _ = graphs.core  # what was read is a valid set
            except InputError as error:
                if data in wholes:
                    raise
                check_sentence(error, path)

        wholes = [(folder / seed).read_bytes() for seed in FILES[name]]
        return wholes, read

    return make


def arrays(folder: Path) -> tuple[Corpus, Callable[[bytes], Any]]:
    """An .npz of which one array, by the first byte, is the rest of the input; zip's own checksums fit."""
    from grade.settings import ReadSettings
    from tests.sources.mutations import outcome

    members: list[tuple[str, bytes]] = []
    for file in ("arrays.npz", "full.npz"):
        with zipfile.ZipFile(folder / file) as archive:
            members += [(f"{file}:{name}", archive.read(name)) for name in archive.namelist()]
    settings, path = ReadSettings(), folder / "input.npz"

    def read(data: bytes) -> None:
        chosen = members[data[0] % len(members)][0] if data else ""
        file = chosen.partition(":")[0] or "full.npz"
        with zipfile.ZipFile(path, "w") as archive:
            for name, whole in members:
                if name.startswith(f"{file}:"):
                    archive.writestr(name.partition(":")[2], data[1:] if name == chosen else whole)
        outcome(path, settings)

    return [bytes([number]) + whole for number, (_, whole) in enumerate(members)], read


def forged(folder: Path) -> tuple[Corpus, Callable[[bytes], Any]]:
    """A stored set of which one array, by the first byte, is the rest of the input, with checksums that fit."""
    from grade.errors import InputError
    from grade.graphs import storage
    from grade.graphs.stored_arrays import DTYPES, arrays_of, checksums
    from grade.graphs.summary import summarize
    from grade.sampling.census import take_census
    from grade.sources import load

    graphs = load(folder / "layers.onnx")
    stored = {name: np.asarray(array, DTYPES[name]) for name, array in arrays_of(graphs).items()}
    names = sorted(stored)
    place = folder / "forged"

    def read(data: bytes) -> None:
        shutil.rmtree(place, ignore_errors=True)
        place.mkdir()
        chosen = names[data[0] % len(names)] if data else ""
        for name, array in stored.items():
            dtype = DTYPES[name]
            if name == chosen:
                content = data[1:]
                array = np.frombuffer(content[: len(content) // dtype.itemsize * dtype.itemsize], dtype)
            np.save(place / f"{name}.npy", array)
        arrays = {}
        for name in names:
            array = np.load(place / f"{name}.npy")
            arrays[name] = (len(array), *checksums(array, DTYPES[name]))
        counts = (len(graphs), graphs.nodes, graphs.edges, 0)
        storage.write_description(place, graphs.origin, counts, arrays, graphs.vocabularies)
        try:
            opened = load(place)
            summarize(opened)
            take_census(opened, 3, threads=1)
        except InputError as error:
            check_sentence(error, place)

    return [bytes([number]) + stored[name].tobytes() for number, name in enumerate(names)], read


def census(folder: Path) -> tuple[Corpus, Callable[[bytes], Any]]:
    """A census of which one array or the description, by the first byte, is the rest, with a checksum that fits."""
    from grade.errors import InputError
    from grade.sampling import census as stored
    from grade.sealed import CHECKSUM
    from grade.sources import load

    made = stored.take_census(load(folder / "layers.onnx"), 4, threads=1)
    arrays = {"node_types": made.patterns.node_types, "edges": made.patterns.edges, "counts": made.counts}
    description = stored.describe(made).encode()
    path = folder / "input.npz"

    def read(data: bytes) -> None:
        which, content = data[0] % 4 if data else 4, data[1:]
        parts, text = dict(arrays), description
        if which == 3:
            text = content
        elif which < 3:
            name = list(arrays)[which]
            whole = arrays[name]
            row = whole.dtype.itemsize * int(np.prod(whole.shape[1:]))
            shape = (-1, *whole.shape[1:])
            parts[name] = np.frombuffer(content[: len(content) // row * row], whole.dtype).reshape(shape)
        try:
            described = json.loads(text)
            described[CHECKSUM] = stored.checksum(described, *parts.values())
            text = json.dumps(described).encode()
        except (ValueError, TypeError, AttributeError, RecursionError):
            pass  # it is no description at all
        np.savez(path, description=np.array(text.decode(errors="replace").replace("\0", "")), **parts)
        try:
            found = stored.Census.load(path)
            assert len(found.top(5)) <= 5
        except InputError as error:
            check_sentence(error, path)

    wholes = [*(array.tobytes() for array in arrays.values()), description]
    return [bytes([number]) + whole for number, whole in enumerate(wholes)], read


def costs(folder: Path) -> tuple[Corpus, Callable[[bytes], Any]]:
    """Files of costs, JSON and (with a first byte that is no brace) CSV."""
    from grade.costs.cost_files import read_costs
    from grade.errors import InputError

    def read(data: bytes) -> None:
        path = folder / f"input.{'json' if data.lstrip().startswith(b'{') else 'csv'}"
        path.write_bytes(data)
        try:
            read_costs(path)
        except InputError as error:
            check_sentence(error, path)

    return [(folder / f"costs.{suffix}").read_bytes() for suffix in ("json", "csv")], read


def patterns(folder: Path) -> tuple[Corpus, Callable[[bytes], Any]]:
    """Patterns as text; whatever is read as one has a text of its own that is read as the same."""
    from grade.errors import InputError
    from grade.graphs.queries import Query
    from tests.fuzz.seeds import PATTERNS

    def read(data: bytes) -> None:
        text = data.decode(errors="surrogateescape")
        try:
            pattern = Query(text).pattern((), ())
        except InputError:
            return
        if pattern is not None:
            assert str(Query(str(pattern)).pattern((), ())) == str(pattern), text

    return [pattern.encode() for pattern in PATTERNS], read


TARGETS: dict[str, Target] = {name: reading(name) for name in FILES}
TARGETS |= {"npz": arrays, "set": forged, "census": census, "costs": costs, "patterns": patterns}


def functions() -> Iterator[Any]:
    """The functions and methods of the modules of GraDE that are imported. (An import hook would not see an editable
    installation.)
    """
    for name, module in list(sys.modules.items()):
        if name.startswith("grade."):
            owners = [module, *(each for each in vars(module).values() if isinstance(each, type))]
            for owner in (each for each in owners if getattr(each, "__module__", name) == name):
                members = [getattr(each, "__func__", each) for each in vars(owner).values()]
                yield from (each for each in members if inspect.isfunction(each) and each.__module__ == name)


def fuzz(name: str, folder: Path, flags: list[str]) -> None:
    """Fuzz one target until libFuzzer ends the process."""
    atheris: Any = importlib.import_module("atheris")
    importlib.import_module("tests.fuzz.seeds").write_files(folder)
    corpus, read = TARGETS[name](folder)
    for function in functions():
        atheris.instrument_func(function)
    (folder / "corpus").mkdir()
    for number, whole in enumerate(corpus):
        read(whole)  # what is whole is read
        (folder / "corpus" / f"{number:02}").write_bytes(whole)
    atheris.Setup([sys.argv[0], *flags, f"-artifact_prefix={folder}/", str(folder / "corpus")], read)
    atheris.Fuzz()


def report(name: str, ended: "subprocess.CompletedProcess[str]") -> Iterator[str]:
    """A line of the table, and what was found."""
    text = ended.stdout + ended.stderr
    units = re.findall(r"number_of_executed_units: (\d+)", text)
    covered = re.findall(r"cov: (\d+)", text)
    found = "nothing" if ended.returncode == 0 else f"a failure (exit code {ended.returncode})"
    yield f"| {name} | {int(units[-1] if units else 0):,} | {covered[-1] if covered else '?'} | {found} |"
    if ended.returncode:
        yield text[text.find("=== Uncaught") :][:2000] + text[-2000:]


def main() -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("targets", nargs="*", metavar="TARGET", help=f"of {', '.join(TARGETS)}")
    parser.add_argument("--seconds", type=int, default=60, help="for each target")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--in-this-process", action="store_true", help="one target; what is found stays")
    arguments = parser.parse_args()
    if unknown := set(arguments.targets) - TARGETS.keys():
        parser.error(f"there is no target {', '.join(sorted(unknown))}")
    flags = [f"-max_total_time={arguments.seconds}", f"-seed={arguments.seed}", "-print_final_stats=1"]
    flags += [f"-timeout={MOST_SECONDS}", f"-rss_limit_mb={MOST_MEBIBYTES}", "-max_len=20000"]
    failed = False
    print("| target | inputs | edges covered | found |\n|---|---|---|---|")
    for name in arguments.targets or TARGETS:
        with tempfile.TemporaryDirectory(prefix="grade-guided-") as scratch:
            if arguments.in_this_process:
                fuzz(name, Path(scratch), flags)
            command = [sys.executable, "-m", "tests.fuzz.guided", "--in-this-process", name]
            command += ["--seconds", str(arguments.seconds), "--seed", str(arguments.seed)]
            ended = subprocess.run(command, capture_output=True, text=True, errors="replace")
            print("\n".join(report(name, ended)), flush=True)
            failed |= ended.returncode != 0
    return int(failed)


if __name__ == "__main__":
    sys.exit(main())
