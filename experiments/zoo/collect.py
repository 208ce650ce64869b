"""Captures as many real architectures as possible from the model definitions of installed packages.

    python3 -m venv zoo-env; pip install -c constraints.txt --no-deps timm torchvision pytorchcv ...
    python experiments/zoo/collect.py --work FOLDER             # a day on one core; go on by repeating it after a stop
    python experiments/zoo/collect.py --work FOLDER --pack      # packs what there is so far

timm, torchvision, transformers, diffusers, litgpt, pytorchcv, open_clip and segmentation_models_pytorch are taken where
they are installed. No weights are made and nothing is downloaded; each model is captured in a process of its own, with
limits of time and memory. Families take turns, so that the captured models are varied at any moment.
FOLDER/manifest.jsonl has a line for every model tried: package, version, model, nodes, edges, digest of its structure,
seconds, and why it was left out.
"""

import argparse
import hashlib
import json
import lzma
import os
import re
import signal
import time
from collections import Counter
from collections.abc import Callable
from contextlib import suppress
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

from makers import specs
from makers.warm import Candidate

from grade.errors import InputError
from grade.graphs import GraphSet
from grade.graphs.concatenation import join
from grade.graphs.digests import structure_digests
from grade.sampling.census import Census, take_census
from grade.settings import ReadSettings
from grade.sources import load
from grade.sources.model_zoos import timm_models, transformers_models
from grade.sources.npz_files import read_npz, write_npz
from grade.sources.readers import Item
from grade.sources.worker_pool import Failure, Limits, read_in_workers

HERE = Path(__file__).parent
PACKED = HERE / "zoo-large.npz.xz"
SETTINGS = ReadSettings(names="onnx")  # so that the set can be compared with ONNX files
LATER = 3  # turns by which a rank is put off
DISTRIBUTIONS = {"open_clip": "open_clip_torch"}  # where the name on PyPI is another


def candidates() -> list[tuple[str, Item]]:
    """(package, input) of every model that can be tried; families take turns."""
    found = [("timm", item.place, "", 0) for item in listed(timm_models)]
    found += [("transformers", item.place, item.place, 0) for item in listed(transformers_models)]
    found += list(specs())
    turns: Counter[tuple[str, str]] = Counter()
    ranked = []
    for package, place, family, rank in sorted(found):
        model = re.split(r"[:.]", place)[-1].lower()
        kin = package, family or re.split(r"[\d_/-]", model)[0]
        ranked.append((turns[kin] + LATER * rank, place, package))
        turns[kin] += 1
    return [(package, Candidate("warm", place)) for _, place, package in sorted(ranked)]


def listed(models: Callable[[str], list[Item]]) -> list[Item]:
    """All models of a package, none where it is not installed."""
    try:
        return models("*")
    except InputError as error:
        print(error, flush=True)
        return []


def tried(manifest: Path) -> list[dict[str, Any]]:
    """The last line of every model of the manifest; a line that a kill cut off is left out."""
    rows: dict[str, dict[str, Any]] = {}
    if manifest.is_file():
        for line in manifest.read_text(encoding="utf-8").splitlines():
            with suppress(ValueError):
                row = json.loads(line)
                rows[row["spec"]] = row
    return sorted(rows.values(), key=lambda row: str(row["spec"]))


def collect(work: Path, limits: Limits, until: float, again: bool) -> None:
    """Try every model that was not tried yet."""
    (work / "graphs").mkdir(parents=True, exist_ok=True)
    manifest = work / "manifest.jsonl"
    done = {row["spec"] for row in tried(manifest) if not (again and row["skipped"])}
    waiting = [(package, item) for package, item in candidates() if item.place not in done]
    package_of = {item.place: package for package, item in waiting}
    print(f"{len(done)} models tried before, {len(waiting)} to go", flush=True)
    os.environ["HF_HUB_OFFLINE"] = "1"  # a model whose definition asks a hub is refused at once
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
    rows = tried(work / "manifest.jsonl")
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
    write_npz(whole, plain, compressed=False, names_as_bytes=True)
    packed.write_bytes(lzma.compress(plain.read_bytes(), preset=9))
    plain.unlink()
    again = load(f"zoo-large:{packed}")
    censuses = {}
    for k in range(3, min(5, again.largest) + 1):
        census = take_census(again, k)
        censuses[str(k)] = {
            "instances": census.instances,
            "patterns": len(census.patterns),
            "digest": digest_of_counts(census),
        }
    lines = "".join(json.dumps(row) + "\n" for row in rows)
    (results / "manifest.jsonl.xz").write_bytes(lzma.compress(lines.encode()))
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
    (results / "large.md").write_text(page(rows, data), encoding="utf-8")
    print(json.dumps(data, indent=1))


def page(rows: list[dict[str, Any]], data: dict[str, Any]) -> str:
    """What was tried, captured and kept, by package, and the commonest reasons for leaving a model out."""
    lines = [
        "# zoo-large",
        "",
        "Made by `python experiments/zoo/collect.py --work FOLDER` and then `--pack`:"
        f" {data['graphs']:,} distinct graphs with {data['nodes']:,} operators of {data['operators']} types and"
        f" {data['edges']:,} edges, the largest of {data['largest_graph']:,} operators, in {data['bytes']:,} bytes."
        f" {data['captured'] - data['graphs']:,} captured models have exactly the structure of another and were merged"
        " with it. `manifest.jsonl.xz` has a line for every model tried.",
        "",
        "| package | version | tried | captured | distinct | operators | seconds a model |",
        "|---|---|---|---|---|---|---|",
    ]
    for package in sorted({row["package"] for row in rows}):
        own = [row for row in rows if row["package"] == package]
        captured = [row for row in own if not row["skipped"]]
        versions = ", ".join(sorted({row["version"] for row in captured}))
        lines.append(
            f"| {package} | {versions} | {len(own):,} | {len(captured):,} | {data['by_package'].get(package, 0):,} |"
            f" {sum(row['nodes'] for row in captured):,} | {sum(row['seconds'] for row in own) / len(own):.1f} |"
        )
    lines += ["", "| k | occurrences | patterns |", "|---|---|---|"]
    lines += [
        f"| {k} | {found['instances']:,} | {found['patterns']:,} |" for k, found in data["census"].items()
    ]
    lines += ["", "Why models were left out, the ten commonest reasons:", ""]
    reasons = Counter(general(row) for row in rows if row["skipped"])
    lines += [f"- {count:,}: {reason}" for reason, count in reasons.most_common(10)]
    return "\n".join(lines) + "\n"


def general(row: dict[str, Any]) -> str:
    """The reason without the model's name and numbers, so that equal ones can be counted."""
    reason = str(row["skipped"]).removeprefix(row["spec"]).strip()
    match = re.search(r"(cannot be (?:made|captured[^(]*)) ?\((\w+): (.*)", reason)
    if match is None:
        return re.sub(r"\d+", "N", reason)
    return f"{match[1].strip()}, {match[2]}: {re.sub(r'[0-9]+', 'N', match[3])[:80].rstrip(').')}"


def digest_of_counts(census: Census) -> str:
    """SHA-256 of all patterns, by their text in order, with their counts."""
    counts = sorted(zip(map(str, census.patterns), census.counts.tolist(), strict=True))
    return hashlib.sha256(json.dumps(counts).encode()).hexdigest()


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
    parser.add_argument("--again", action="store_true", help="try those again that were left out")
    arguments = parser.parse_args()
    if arguments.pack:
        pack(arguments.work, arguments.packed, arguments.results)
    else:
        os.nice(19)
        signal.signal(signal.SIGTERM, signal.default_int_handler)
        limits = Limits(arguments.seconds, arguments.memory)
        collect(arguments.work, limits, time.monotonic() + arguments.stop_after, arguments.again)


if __name__ == "__main__":
    main()
