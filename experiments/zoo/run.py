"""Builds a graph set of more than 300 real architectures from the definitions in timm and transformers.

    pip install -c constraints.txt --no-deps timm torchvision && pip install -c constraints.txt transformers
    python experiments/zoo/run.py --out zoo-set                 # about 20 minutes on 2 cores; repeat it after a kill
    grade graphs info zoo-set

(timm asks for torchvision, and that for a torch of its own: with --no-deps torch stays as it is.) Nothing is
downloaded and no weights are made. settings.toml says which models; results/ holds the counts of the last run.
"""

import argparse
import json
import tomllib
from collections import defaultdict
from collections.abc import Iterable
from pathlib import Path
from typing import Any

from grade.graphs.storage import load_graph_set
from grade.graphs.summary import summarize
from grade.settings import ReadSettings
from grade.sources.building import BuildReport, build_graph_set
from grade.sources.model_zoos import import_timm, import_transformers
from grade.sources.worker_pool import Limits

HERE = Path(__file__).parent


def spread(names: Iterable[str], family_of: dict[str, str], each: int) -> list[str]:
    """At most so many names of every family, evenly spaced in its sorted list.

    >>> spread(["a1", "a2", "a3", "b1"], {"a1": "a", "a2": "a", "a3": "a", "b1": "b"}, 2)
    ['a1', 'a3', 'b1']
    """
    families: dict[str, list[str]] = defaultdict(list)
    for name in sorted(names):
        families[family_of[name]].append(name)
    chosen = []
    for members in families.values():
        count = min(each, len(members))
        chosen += [members[i * (len(members) - 1) // max(count - 1, 1)] for i in range(count)]
    return sorted(chosen)


def choose(settings: dict[str, Any]) -> list[str]:
    """The specs of all models."""
    timm = import_timm()
    names = timm.list_models()
    family_of = {name: timm.model_entrypoint(name).__module__ for name in names}
    specs = [f"timm:{name}" for name in spread(names, family_of, settings["models_per_family"])]
    library = import_transformers()
    specs += [f"transformers:{name}" for name in settings["transformers"] if hasattr(library, name)]
    return specs


def write_results(folder: Path, report: BuildReport, out: Path) -> None:
    """The counts as JSON, and as a page."""
    folder.mkdir(parents=True, exist_ok=True)
    summary = summarize(load_graph_set(out))
    versions = {"timm": import_timm().__version__, "transformers": import_transformers().__version__}
    data = {
        "versions": versions,
        "models": report.inputs,
        "captured": report.read,
        "graphs": report.graphs,
        "nodes": report.nodes,
        "edges": report.edges,
        "operators": len(summary.node_types),
        "largest_graph": summary.largest_graph,
        "largest_graph_name": summary.largest_graph_name,
        "mean_graph": round(summary.mean_graph, 1),
        "operator_counts": summary.node_types,
        "names": list(load_graph_set(out).graph_names),
        "duplicates": report.duplicates,
        "skipped": report.skipped,
    }
    (folder / "results.json").write_text(json.dumps(data, indent=1) + "\n")
    lines = ["# Zoo", "", "Made by `python experiments/zoo/run.py`.", "", "| | |", "|---|---|"]
    for name in (
        "models",
        "captured",
        "graphs",
        "nodes",
        "edges",
        "operators",
        "largest_graph",
        "mean_graph",
    ):
        lines.append(f"| {name.replace('_', ' ')} | {data[name]:,} |")
    lines += [f"| {name} | {version} |" for name, version in versions.items()]
    lines += [
        "",
        f"The largest graph is {summary.largest_graph_name}. {len(report.duplicates)} models have exactly the",
    ]
    lines += ["structure of another and were merged with it. Not captured, and why:", ""]
    lines += [f"- {reason}" for reason in report.skipped] or ["- none"]
    (folder / "README.md").write_text("\n".join(lines) + "\n")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--out", type=Path, required=True, help="the graph set to write")
    parser.add_argument("--results", type=Path, default=HERE / "results", help="where the counts go")
    parser.add_argument("--workers", type=int, default=None, help="processes; all cores when left out")
    arguments = parser.parse_args()
    settings = tomllib.loads((HERE / "settings.toml").read_text())

    def progress(done: int, inputs: int, name: str) -> None:
        print(f"[{done:4} of {inputs}] {name}", flush=True)

    report = build_graph_set(
        choose(settings),
        arguments.out,
        ReadSettings(names=settings["names"]),
        merge_duplicates=settings["merge_duplicates"],
        workers=arguments.workers,
        limits=Limits(settings["seconds"], settings["memory"]),
        progress=progress,
    )
    write_results(arguments.results, report, arguments.out)
    print(f"{report.graphs} graphs, {report.nodes} nodes, {len(report.skipped)} models skipped")


if __name__ == "__main__":
    main()
