"""The page of the case study, from the results of run.py, find.py and models.py: results/README.md.

python experiments/case_study/tables.py
"""

import json
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RESULTS = HERE / "results"
SETTINGS = tomllib.loads((HERE / "settings.toml").read_text())
COLUMNS = {
    "eager": "eager",
    "eager-nhwc": "eager, NHWC",
    "operators": "operators compiled alone",
    "hand": "by hand",
    "hand-nhwc": "by hand, NHWC",
    "compiled": "compiled",
    "compiled-nhwc": "compiled, NHWC",
    "ort-plain": "onnxruntime, plain",
    "ort": "onnxruntime",
    "tvm-operators": "TVM, operators",
    "tvm-hand": "TVM, by hand",
    "tvm": "TVM, as one",
}
APART, FUSED = ("eager", "operators"), ("hand", "compiled")  # in the same layout
NEAR = 0.8  # of the copy bandwidth: what a fused kernel of a motif that moves bytes should reach
Row = dict[str, Any]


def lines_of(name: str) -> list[Row]:
    path = RESULTS / name
    return [json.loads(line) for line in path.read_text().splitlines()] if path.exists() else []


def table(head: Sequence[str], rows: Iterable[Sequence[str]]) -> list[str]:
    made = ["| " + " | ".join(head) + " |", "|---" * len(head) + "|"]
    return [*made, *("| " + " | ".join(row) + " |" for row in rows), ""]


def milliseconds(seconds: float | None) -> str:
    """Three digits.

    >>> milliseconds(0.0123456), milliseconds(1.5), milliseconds(None)
    ('12.3', '1500', '-')
    """
    if seconds is None:
        return "-"
    value = 1e3 * seconds
    return f"{value:.0f}" if value >= 100 else f"{value:.3g}"


def by_strategy(row: Row) -> dict[str, Row]:
    return {each["strategy"]: each for each in row["latencies"]}


def cells(row: Row, columns: Sequence[str]) -> list[str]:
    """Medians, the quickest in bold, with half of the distance of the quartiles."""
    found = by_strategy(row)
    known = [found[c]["seconds"] for c in columns if c in found and found[c]["seconds"]]
    made = []
    for column in columns:
        each = found.get(column)
        if each is None or not each["seconds"]:
            made.append("-")
            continue
        spread = (each["high"] - each["low"]) / 2
        text = f"{milliseconds(each['seconds'])} ± {milliseconds(spread)}"
        made.append(f"**{text}**" if each["seconds"] == min(known) else text)
    return made


def used(rows: list[Row]) -> list[str]:
    """The strategies that were timed for some row."""
    timed = {each["strategy"] for row in rows for each in row["latencies"] if each["seconds"]}
    return [column for column in COLUMNS if column in timed]


def share(row: Row, name: str) -> float | None:
    found = by_strategy(row).get(name)
    return None if found is None else found["roofline"]


def percent(value: float | None) -> str:
    return "-" if value is None else f"{100 * value:.0f} %"


def machine_line(rows: list[Row]) -> str:
    """Where and with which commit the rows were made."""
    first = rows[0]
    packages = ", ".join(f"{name} {version}" for name, version in first["versions"].items())
    loads = [row["load"] for row in rows]
    commits = ", ".join(sorted({row["commit"] for row in rows}))
    return (
        f"{first['device']}, threads: {first['threads']}, processors: {first['processors']}, load average"
        f" {min(loads):.0f} to {max(loads):.0f}; {packages}; commit {commits}."
    )


def paper_section(device: str, rows: list[Row]) -> list[str]:
    """Cases A, B and C."""
    text, gpu = [], device == "cuda"
    for tf32 in (True, False):
        own = [row for row in rows if row["part"] == "paper" and row["tf32"] == tf32]
        if not own:
            continue
        columns = used(own)
        kind = "in TF32" if tf32 else "in float32"
        trials = {row["trials"] for row in own}
        if "tvm" in columns:
            kind += "; TVM is not tuned" if trials == {0} else f"; TVM with {max(trials)} trials each"
        text += [
            f"Milliseconds {kind}, {own[0]['about']}, median ± half of the distance of the quartiles:",
            "",
        ]
        text += table(
            ["case", *(COLUMNS[c] for c in columns)], [[row["case"], *cells(row, columns)] for row in own]
        )
        text += [
            "Share of the roofline that is reached (copy bandwidth and fastest product, measured in the same run):",
            "",
        ]
        head = [
            "case",
            *(("copy, TB/s", "products, Tflop/s") if gpu else ("copy, GB/s", "products, Gflop/s")),
        ]
        scale = 1e12 if gpu else 1e9
        text += table(
            [*head, *(COLUMNS[c] for c in columns)],
            [
                [
                    row["case"],
                    f"{row['machine']['bandwidth'] / scale:.2f}",
                    f"{row['machine']['rate'] / scale:.0f}",
                    *(percent(share(row, c)) for c in columns),
                ]
                for row in own
            ],
        )
    return text


def paper_table() -> list[str]:
    given = SETTINGS["paper_milliseconds"]
    head = ["case", "unoptimised", "unfused", "manual fusion", "automated fusion", "most"]
    rows = [[name, *(f"{v:.2f}" for v in row), f"{row[0] / min(row):.2f} x"] for name, row in given.items()]
    return [
        "The paper's table (TVM 0.18, RTX 2080 Ti, 32 x 64 x 256 x 256, milliseconds):",
        "",
        *table(head, rows),
    ]


def moving_section(rows: list[Row]) -> list[str]:
    """Motifs whose time is that of moving bytes."""
    own = [row for row in rows if row["part"] == "moving"]
    if not own:
        return []
    columns = used(own)
    head = [
        "motif",
        "shape",
        "MB",
        "at copy bandwidth",
        *(COLUMNS[c] for c in columns),
        "by hand, of copy bandwidth",
    ]
    body = []
    for row in own:
        limit = row["work"]["bytes_fused"] / row["machine"]["bandwidth"]
        hand = by_strategy(row)["hand"]["seconds"]
        reached = None if not hand else limit / hand
        body.append(
            [
                row["case"],
                row["about"],
                f"{row['work']['bytes_fused'] / 1e6:.0f}",
                milliseconds(limit),
                *cells(row, columns),
                percent(reached),
            ]
        )
    return table(head, body)


def saving_section(collection: Row, part: str, timed: dict[str, list[Row]]) -> list[str]:
    """Motifs or blocks with the largest expected saving, and what was measured of one occurrence."""
    head = ["", "what", "nodes", "models", "occurrences", "MB each", "MB in all"]
    head += [f"{device}: {what}" for device in timed for what in ("apart, ms", "fused, ms", "saved")]
    body = []
    for number, row in enumerate(collection[f"{part}s"], start=1):
        line = [
            str(number),
            f"`{row['text']}`",
            str(row["nodes"]),
            str(row["graphs"]),
            str(row["free"]),
            f"{row['free_saving'] / max(row['free'], 1) / 1e6:.1f}",
            f"{row['free_saving'] / 1e6:.0f}",
        ]
        for rows in timed.values():
            own = next((r for r in rows if r["case"] == row["name"]), None)
            line += ["-"] * 3 if own is None else measured(own)
        body.append(line)
    return table(head, body)


def measured(row: Row) -> list[str]:
    """The quickest way apart, the quickest fused, both in the layout that is quickest, and the saving."""
    found = {name: each["seconds"] for name, each in by_strategy(row).items() if each["seconds"]}
    apart = min(((s, n) for n, s in found.items() if n.removesuffix("-nhwc") in APART), default=None)
    fused = min(((s, n) for n, s in found.items() if n.removesuffix("-nhwc") in FUSED), default=None)
    if apart is None or fused is None:
        return ["-"] * 3
    shown = [f"{milliseconds(seconds)} ({COLUMNS[name]})" for seconds, name in (apart, fused)]
    return [*shown, percent(1 - fused[0] / apart[0])]


def search_section(found: Row) -> list[str]:
    """The constrained search on zoo."""
    settings = found["settings"]
    text = [
        f"`grade mine {found['set']} -k {settings['sizes']} --contains Conv --max-in-degree 2 --max-out-degree 2"
        f" --rank-by {settings['rank_by']} --top {settings['top']} --all`, {found['seconds']:.0f} s."
        " The cases are counted exactly, as induced subgraphs, whether the search reports them or not;"
        " 'any activation' is any operator.",
        "",
    ]
    body = []
    for row in found["cases"]:
        if "graphs" not in row:
            body.append(
                [row["case"], row["kin"], str(row["nodes"]), "", "", "", "larger than a pattern can be (16)"]
            )
            continue
        rank = "" if "any" in row["kin"] else "no" if row["rank"] is None else f"rank {row['rank']}"
        body.append(
            [row["case"], row["kin"], str(row["nodes"])]
            + [f"{row[key]:,}" for key in ("graphs", "occurrences", "disjoint")]
            + [rank]
        )
    text += table(["case", "kin", "nodes", "graphs", "occurrences", "disjoint", "among the motifs"], body)
    text += ["The best motifs of the search, and the best of them with a Conv and a Relu:", ""]
    motifs = {row["rank"]: row for row in found["motifs"]}
    return text + table(
        ["rank", "motif", "graphs", "occurrences", "disjoint"],
        [
            [
                str(rank),
                f"`{row['pattern']}`",
                *(f"{row[key]:,}" for key in ("graphs", "occurrences", "disjoint")),
            ]
            for rank, row in sorted(motifs.items())
        ],
    )


def models_section(rows: list[Row]) -> list[str]:
    """Compile time and latency; in processor seconds on a CPU, which other work on the machine does not change."""
    cpu = "first_processor" in rows[0]["eager"] and "NVIDIA" not in rows[0]["device"]
    first, latency = ("first_processor", "latency_processor") if cpu else ("first", "latency")
    head = ["model", "operators", "blocks", "classes", "weights in blocks"]
    head += [
        f"{way}: {what}" for way in ("blocks", "whole") for what in ("first run, s", "graphs", "run, ms")
    ]
    head += ["eager: run, ms"]
    body, notes = [], []
    for row in rows:
        line = [row["model"], f"{row['operators']:,}"]
        blocks = row["blocks"]
        known = "reason" not in blocks
        line += [str(blocks["regions"]), str(blocks["classes"])] if known else ["-"] * 2
        line += [percent(blocks["covered"] / blocks["parameters"]) if known else "-"]
        for way in ("blocks", "whole"):
            each = row[way]
            if "reason" in each:
                notes.append(f"{row['model']}, {way}: {each['reason']}")
                line += ["-"] * 3
            else:
                line += [f"{each[first]:.1f}", str(each["graphs"]), milliseconds(each[latency])]
        line.append(milliseconds(row["eager"].get(latency)))
        body.append(line)
    differences = [
        row[way]["difference"] for row in rows for way in ("blocks", "whole") if "difference" in row[way]
    ]
    kind = "Processor seconds, compilers included" if cpu else "Seconds"
    text = [
        f"{kind}. The source is that of `grade outline --to pytorch`; 'blocks' compiles each class of blocks once,"
        " 'whole' the model as one; graphs are those that were compiled. Largest difference from the model as it is:"
        f" {max(differences, default=0):.0e} of the largest output. {machine_line(rows)}",
        "",
        *table(head, body),
    ]
    asked = set(SETTINGS["whole_models"]["names"]) - {row["model"] for row in rows}
    notes += [f"{name}: not measured" for name in sorted(asked)]
    return text + [f"Left out: {'; '.join(notes)}."] * bool(notes)


def missing(rows: list[Row]) -> list[str]:
    """Why strategies were left out, once for each reason."""
    reasons: dict[str, list[str]] = {}
    for row in rows:
        for each in row["latencies"]:
            if not each["seconds"] and each["reason"]:
                reasons.setdefault(f"{each['strategy']}: {each['reason']}", []).append(row["case"])
    return [f"- {reason} ({', '.join(dict.fromkeys(names))})" for reason, names in sorted(reasons.items())]


def page() -> str:
    """The whole text."""
    devices = {name: rows for name in ("cuda", "cpu") if (rows := lines_of(f"{name}.jsonl"))}
    text = ["# Case study: from motif to faster code", ""]
    text += ["Made by `python experiments/case_study/tables.py` from the results beside this page.", ""]
    text += [*(HERE / "findings.md").read_text().splitlines(), ""]
    text += ["## The paper's cases", "", *paper_table()]
    for device, rows in devices.items():
        text += [
            f"### {'GPU' if device == 'cuda' else 'CPU'}",
            "",
            machine_line(rows),
            "",
            *paper_section(device, rows),
        ]
    text += ["## Motifs that move bytes", ""]
    for device, rows in devices.items():
        if section := moving_section(rows):
            text += [f"### {'GPU' if device == 'cuda' else 'CPU'}, milliseconds", "", *section]
    if (RESULTS / "zoo.json").exists():
        found = json.loads((RESULTS / "zoo.json").read_text())
        text += ["## Found, not given", "", *search_section(found)]
    if (RESULTS / "collection.json").exists():
        collection = json.loads((RESULTS / "collection.json").read_text())
        names = ", ".join(collection["names"])
        text += ["## Which kernel to write next", ""]
        text += [
            f"{collection['graphs']} models with {collection['nodes']:,} operators ({names}; batches of 1, sizes from"
            f" {collection['sizes']}). MB are bytes that fusing keeps from memory, of the occurrences that no row above"
            " has taken. Measured is one occurrence, cut out with its shapes, on a GPU in batches of"
            f" {SETTINGS['cuda']['batch']}: the quickest way that runs operators one by one against the quickest that"
            " fuses them, each in its best layout.",
            "",
        ]
        timed = {("GPU" if device == "cuda" else "CPU"): rows for device, rows in devices.items()}
        for part, title in (("pattern", "Fusible motifs"), ("block", "Blocks")):
            text += [f"### {title}", "", *saving_section(collection, part, timed)]
    for device in ("cuda", "cpu"):
        if rows := lines_of(f"models-{device}.jsonl"):
            text += ["## Whole models", "", *models_section(rows), ""]
    left = [line for rows in devices.values() for line in missing(rows)]
    if left:
        text += ["## Left out", "", *dict.fromkeys(left), ""]
    return "\n".join(text).rstrip() + "\n"


def main() -> None:
    (RESULTS / "README.md").write_text(page())
    print(RESULTS / "README.md")


if __name__ == "__main__":
    main()
