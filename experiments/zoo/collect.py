"""Captures as many real architectures as possible from the model definitions of installed packages.

    python3 -m venv zoo-env; pip install -c constraints.txt --no-deps timm torchvision pytorchcv ...
    python experiments/zoo/collect.py --work FOLDER             # a day on one core; go on by repeating it after a stop
    python experiments/zoo/collect.py --work FOLDER --pack      # packs what there is so far

timm, torchvision, transformers, pytorchcv, open_clip and segmentation_models_pytorch are taken where they are
installed. No weights are made and nothing is downloaded; each model is captured in a process of its own, with limits
of time and memory. Families take turns, so that what was captured so far is varied at any moment. FOLDER/manifest.jsonl
has a line for every model tried: package, version, model, nodes, edges, digest of its structure, seconds, and why it
was left out.
"""

import argparse
import json
import lzma
import os
import re
import signal
import sys
import time
from collections import Counter, defaultdict
from collections.abc import Iterator
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from grade.graphs import GraphSet
from grade.graphs.concatenation import join
from grade.graphs.digests import structure_digests
from grade.sampling.census import take_census
from grade.settings import ReadSettings
from grade.sources import load
from grade.sources.model_zoos import timm_models, transformers_models
from grade.sources.npz_files import read_npz, write_npz
from grade.sources.readers import Item
from grade.sources.worker_pool import Failure, Limits, read_in_workers

HERE = Path(__file__).parent
PACKED = HERE / "zoo-large.npz.xz"
SETTINGS = ReadSettings(names="onnx")  # so that the set can be compared with ONNX files
DISTRIBUTIONS = {"open_clip": "open_clip_torch"}  # where the name on PyPI is another


def candidates() -> list[tuple[str, Item]]:
    """(package, input) of every model that can be tried; families take turns."""
    sys.path.insert(0, str(HERE))
    from makers import specs

    found = [("timm", item) for item in timm_models("*")]
    found += [("transformers", item) for item in transformers_models("*")]
    found += [(package, Item("torch", spec)) for package, spec in specs()]
    turns: dict[tuple[str, str], int] = defaultdict(int)
    ranked = []
    for package, item in sorted(found, key=lambda pair: pair[1].place):
        model = re.split(r"[:.]", item.place)[-1]
        family = package, re.split(r"[\d_/-]", model.lower())[0]
        ranked.append((turns[family], item.place, package, item))
        turns[family] += 1
    return [(package, item) for _, _, package, item in sorted(ranked, key=lambda row: row[:2])]


def tried(manifest: Path) -> Iterator[dict[str, Any]]:
    """The lines of the manifest; one that a kill cut off is left out."""
    if manifest.is_file():
        for line in manifest.read_text(encoding="utf-8").splitlines():
            try:
                yield json.loads(line)
            except ValueError:
                continue


def collect(work: Path, limits: Limits, until: float) -> None:
    """Try every model that was not tried yet."""
    (work / "graphs").mkdir(parents=True, exist_ok=True)
    manifest = work / "manifest.jsonl"
    done = {row["spec"] for row in tried(manifest)}
    waiting = [(package, item) for package, item in candidates() if item.place not in done]
    package_of = {item.place: package for package, item in waiting}
    print(f"{len(done)} models tried before, {len(waiting)} to go", flush=True)
    os.environ["PYTHONPATH"] = os.pathsep.join([str(HERE), os.environ.get("PYTHONPATH", "")])
    begin, graphs = time.monotonic(), None
    stream = read_in_workers([item for _, item in waiting], SETTINGS, 1, limits)
    with manifest.open("a", encoding="utf-8") as lines:
        for item, message in stream:
            if isinstance(message, GraphSet):
                graphs = message
                continue
            row = row_of(item, package_of[item.place], graphs, message, time.monotonic() - begin)
            if graphs is not None and not row["skipped"]:
                write_npz(graphs, work / "graphs" / file_name(item.place))
            lines.write(json.dumps(row) + "\n")
            lines.flush()
            print(f"{row['nodes']:>7}  {row['seconds']:6.1f} s  {item.place}  {row['skipped']}", flush=True)
            begin, graphs = time.monotonic(), None
            if begin > until:
                stream.close()
                break


def file_name(spec: str) -> str:
    return re.sub(r"[^\w.-]", "-", spec) + ".npz"


def row_of(
    item: Item, package: str, graphs: GraphSet | None, message: Failure | GraphSet | None, seconds: float
) -> dict[str, Any]:
    reason = message.reason if isinstance(message, Failure) else ""
    if graphs is not None and not reason and graphs.nodes < 2:
        reason = "it has fewer than two operators"
    try:
        number = version(DISTRIBUTIONS.get(package, package))
    except PackageNotFoundError:
        number = ""
    known = graphs is not None and not reason
    return {
        "spec": item.place,
        "package": package,
        "version": number,
        "model": re.split(r"[:.]", item.place)[-1].replace("·", "."),
        "nodes": graphs.nodes if known and graphs else 0,
        "edges": graphs.edges if known and graphs else 0,
        "digest": structure_digests(graphs)[0].hex() if known and graphs else "",
        "seconds": round(seconds, 1),
        "skipped": " ".join(reason.split())[:300],
    }


def pack(work: Path, packed: Path, results: Path) -> None:
    """One set of all that was captured and is distinct, and its counts."""
    rows = sorted(tried(work / "manifest.jsonl"), key=lambda row: str(row["spec"]))
    captured = [row for row in rows if not row["skipped"]]
    first: dict[str, dict[str, Any]] = {}
    for row in captured:
        first.setdefault(row["digest"], row)
    parts = []
    for row in first.values():
        graphs = read_npz(work / "graphs" / file_name(row["spec"]))
        name = f"{row['package']}/{row['model']}"
        parts.append(join([graphs], name).renamed([name]))
    whole = join(parts, "zoo-large")
    plain = packed.with_suffix("")
    write_npz(whole, plain, compressed=False)
    packed.write_bytes(lzma.compress(plain.read_bytes(), preset=9 | lzma.PRESET_EXTREME))
    plain.unlink()
    again = load(f"zoo-large:{packed}")
    censuses = {}
    for k in range(3, min(5, again.largest) + 1):
        census = take_census(again, k)
        censuses[str(k)] = {"instances": census.instances, "patterns": len(census.patterns)}
    (results / "manifest.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows), encoding="utf-8")
    data = {
        "digest": again.digest,
        "tried": len(rows),
        "captured": len(captured),
        "graphs": len(again),
        "nodes": again.nodes,
        "edges": again.edges,
        "operators": len(again.node_vocabulary),
        "largest_graph": again.largest,
        "bytes": packed.stat().st_size,
        "by_package": dict(Counter(row["package"] for row in first.values())),
        "captured_nodes": sum(row["nodes"] for row in captured),
        "census": censuses,
    }
    (results / "large.json").write_text(json.dumps(data, indent=1) + "\n", encoding="utf-8")
    print(json.dumps(data, indent=1))


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--work", type=Path, required=True, help="folder of the manifest and the captured graphs"
    )
    parser.add_argument(
        "--pack", action="store_true", help="make the set of what was captured, and its counts"
    )
    parser.add_argument("--packed", type=Path, default=PACKED, help="the file of the set")
    parser.add_argument("--results", type=Path, default=HERE / "results", help="where manifest and counts go")
    parser.add_argument("--seconds", type=float, default=180.0, help="limit for one model")
    parser.add_argument("--memory", type=float, default=6.0, help="limit for one model in GiB")
    parser.add_argument(
        "--stop-after", type=float, default=86_400.0, help="seconds after which no model is begun"
    )
    arguments = parser.parse_args()
    if arguments.pack:
        pack(arguments.work, arguments.packed, arguments.results)
    else:
        os.nice(19)
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        limits = Limits(arguments.seconds, arguments.memory)
        collect(arguments.work, limits, time.monotonic() + arguments.stop_after)


if __name__ == "__main__":
    main()
