"""How many samples a density takes, and how far each sampler is from uniform.

    python experiments/sample_size/run.py [--quick] [--only PART] [--out FOLDER]

Makes the paper's table "number of sampled subgraphs required to reach a sampling density of 0.1" and its figure
"number of sampled subgraphs vs. sampling density" (appendix, "Additional Experimental Results"), and compares the
shares of patterns in samples with the exact ones. NAS-Bench-NLP takes part if the environment variable GRADE_TEST_DATA
names a folder with its recipes. Results: samples_to_density.csv, curve.csv, bias.csv, large.csv, curve.png and
README.md.
"""

import argparse
import csv
import os
import tomllib
from pathlib import Path
from typing import Any

import matplotlib as mpl
import numpy as np
from numpy.typing import NDArray

from grade import GraphSet
from grade.errors import InputError
from grade.sampling import Request, sample, samplers
from grade.sampling.census import Census, take_census
from grade.sampling.density import density_curve, rows_of
from grade.sources import load

mpl.use("Agg")
import matplotlib.pyplot as plt
from matplotlib.ticker import FuncFormatter, LogLocator, NullFormatter

HERE = Path(__file__).parent
HUB = 20  # edges of a node, in and out
CHUNK = 1 << 16  # uniform draws made at a time
TITLES = {"ars": "ARS", "nrs": "NRS", "rand-esu": "Rand-ESU", "rand-fase": "Rand-FaSE"}
Row = dict[str, Any]


def open_set(name: str, settings: dict[str, Any]) -> GraphSet | None:
    """The graph set; None where its file is not at hand."""
    file = settings.get("file")
    if file is None:
        return load(name)
    path = Path(os.environ.get("GRADE_TEST_DATA", "")) / file
    return load(f"{name}:{path}") if path.is_file() else None


def draws_to(
    graphs: GraphSet, k: int, method: str, densities: list[float], census: Census, seeds: int, threads: int
) -> NDArray[np.int64]:
    """[seeds, densities] number of draws."""
    requests = [Request(graphs=graphs, k=k, count=1, seed=s, threads=threads) for s in range(seeds)]
    return np.array([density_curve(samplers[method], request, densities, census) for request in requests])


def uniform_draws(census: Census, density: float, seeds: int) -> float:
    """Mean number of independent uniform draws until a share of the patterns has been seen."""
    wanted = int(np.ceil(density * len(census.patterns)))
    bounds = np.cumsum(census.counts / census.instances)
    needed = []
    for seed in range(seeds):
        generator, firsts, drawn = np.random.default_rng(seed), np.zeros(0, np.int64), 0
        seen = np.zeros(len(census.patterns), bool)
        while len(firsts) < wanted:
            rows = np.minimum(np.searchsorted(bounds, generator.random(CHUNK)), len(bounds) - 1)
            patterns, places = np.unique(rows, return_index=True)
            fresh = ~seen[patterns]
            seen[patterns] = True
            firsts = np.concatenate([firsts, np.sort(places[fresh]) + drawn])
            drawn += CHUNK
        needed.append(int(firsts[wanted - 1]) + 1)
    return float(np.mean(needed))


def sample_size(settings: dict[str, Any]) -> list[Row]:
    rows: list[Row] = []
    for name, facts in settings["sets"].items():
        graphs = open_set(name, facts)
        if graphs is None:
            print(f"{name}: left out, for GRADE_TEST_DATA names no folder with {facts['file']}")
            continue
        for size, k in enumerate(settings["sizes"]):
            census = take_census(graphs, k, settings["threads"])
            seeds = facts.get("seeds", settings["seeds"])
            if "expected" in facts:
                uniform = facts["expected"][size]
            else:
                uniform = round(uniform_draws(census, settings["density"], seeds))
            for column, method in enumerate(settings["methods"]):
                if uniform > settings["most"] and method != "nrs":
                    print(f"{name}, k = {k}, {method}: left out, for it takes {uniform:,} draws")
                    continue
                try:
                    draws = draws_to(
                        graphs, k, method, [settings["density"]], census, seeds, settings["threads"]
                    )[:, 0]
                except InputError as error:
                    print(f"{name}, {method}: {error}")
                    continue
                rows.append(
                    {
                        "set": facts.get("name", name),
                        "k": k,
                        "method": method,
                        "mean": round(float(draws.mean()), 1),
                        "standard_deviation": round(float(draws.std(ddof=1)), 1),
                        "seeds": len(draws),
                        "uniform": uniform,
                        "paper": facts["paper"][size][column] if "paper" in facts else "",
                    }
                )
                print(rows[-1], flush=True)
    return rows


def curves(settings: dict[str, Any]) -> list[Row]:
    rows: list[Row] = []
    for name in settings["curve"]["sets"]:
        graphs = load(name)
        for k in settings["sizes"]:
            census = take_census(graphs, k, settings["threads"])
            for method in settings["methods"]:
                densities = settings["curve"]["densities"]
                draws = draws_to(
                    graphs, k, method, densities, census, settings["curve"]["seeds"], settings["threads"]
                )
                for density, column in zip(densities, draws.T, strict=True):
                    rows.append(
                        {
                            "set": name,
                            "k": k,
                            "method": method,
                            "density": density,
                            "mean": round(float(column.mean()), 1),
                            "standard_deviation": round(float(column.std(ddof=1)), 1),
                        }
                    )
                print(rows[-1], flush=True)
    return rows


def draw_curves(rows: list[Row], path: Path) -> None:
    sets = list(dict.fromkeys(row["set"] for row in rows))
    sizes = sorted({row["k"] for row in rows})
    figure, axes = plt.subplots(
        len(sizes), len(sets), figsize=(4.6 * len(sets), 3.6 * len(sizes)), squeeze=False
    )
    markers = {"ars": "o", "nrs": "s", "rand-esu": "^", "rand-fase": "x"}
    for i, k in enumerate(sizes):
        for j, name in enumerate(sets):
            axis = axes[i, j]
            for method, title in TITLES.items():
                points = [r for r in rows if (r["set"], r["k"], r["method"]) == (name, k, method)]
                axis.errorbar(
                    [p["density"] for p in points],
                    [p["mean"] for p in points],
                    yerr=[p["standard_deviation"] for p in points],
                    label=title,
                    marker=markers[method],
                    markersize=5,
                    markerfacecolor="none",
                    linewidth=1,
                    capsize=2,
                )
            axis.set(yscale="log", title=f"{name}, k = {k}", xlabel="sampling density", ylabel="samples")
            axis.grid(alpha=0.3, which="both")
            axis.yaxis.set_major_locator(LogLocator(subs=(1, 2, 5)))
            axis.yaxis.set_major_formatter(FuncFormatter(lambda value, _: f"{value:,.0f}"))
            axis.yaxis.set_minor_formatter(NullFormatter())
    axes[0, 0].legend()
    figure.tight_layout()
    figure.savefig(path, dpi=110)
    plt.close(figure)


def bias(settings: dict[str, Any]) -> list[Row]:
    """Shares of patterns in samples of a fixed size against the exact shares.

    distance: total variation between the mean of the samples' shares over all seeds and the exact shares, where
    independent uniform draws would have `noise`; a sampler without bias has both alike. spread: variance of the
    shares of the most frequent patterns over seeds, in multiples of that of independent uniform draws (median).
    """
    rows: list[Row] = []
    count, seeds, top = settings["bias"]["count"], settings["bias"]["seeds"], settings["bias"]["top"]
    for name, k in settings["bias"]["sets"]:
        graphs = load(name)
        census = take_census(graphs, k, settings["threads"])
        exact = census.counts / census.instances
        frequent = np.argsort(-exact, kind="stable")[:top]
        degree = np.diff(graphs.out_offsets) + np.diff(graphs.in_offsets)
        generator = np.random.default_rng(0)
        ideal = generator.multinomial(count * seeds, exact, size=20) / (count * seeds)
        noise = np.abs(ideal - exact).sum(axis=1).mean() / 2
        for method in settings["methods"]:
            shares, totals, hubs = np.zeros((seeds, len(census.patterns))), [], 0.0
            for seed in range(seeds):
                try:
                    drawn = sample(
                        graphs, k, method, count=count, seed=seed, threads=settings["threads"], parts=0
                    )
                except InputError:
                    break
                shares[seed, rows_of(drawn.patterns, census)] = drawn.counts / count
                totals.append(drawn.drawn.get("estimated_instances", np.nan))
                hubs += float((degree[drawn.occurrences].max(axis=1) >= HUB).mean()) / seeds
            if not totals:
                continue
            variance = shares[:, frequent].var(axis=0, ddof=1)
            independent = exact[frequent] * (1 - exact[frequent]) / count
            estimate = np.array(totals) / census.instances
            known = np.isfinite(estimate).all()
            rows.append(
                {
                    "set": name,
                    "k": k,
                    "method": method,
                    "distance": round(float(np.abs(shares.mean(axis=0) - exact).sum() / 2), 4),
                    "noise": round(float(noise), 4),
                    "spread": round(float(np.median(variance / independent)), 2),
                    "with_hub": round(hubs, 4),
                    "instances_estimated_to_true": round(float(estimate.mean()), 4) if known else "",
                    "its_standard_error": round(float(estimate.std(ddof=1) / np.sqrt(seeds)), 4)
                    if known
                    else "",
                }
            )
            print(rows[-1], flush=True)
    return rows


def large(settings: dict[str, Any]) -> list[Row]:
    """The spread from seed to seed at sizes that nobody can count."""
    rows: list[Row] = []
    graphs = load(settings["large"]["set"])
    count, seeds, top = settings["large"]["count"], settings["large"]["seeds"], settings["bias"]["top"]
    for k in settings["large"]["sizes"]:
        for method in settings["large"]["methods"]:
            shares: dict[bytes, NDArray[np.float64]] = {}
            totals = []
            for seed in range(seeds):
                drawn = sample(
                    graphs, k, method, count=count, seed=seed, threads=settings["threads"], parts=0
                )
                totals.append(drawn.drawn["estimated_instances"])
                for key, times in zip(drawn.patterns.keys.tolist(), drawn.counts.tolist(), strict=True):
                    shares.setdefault(key, np.zeros(seeds))[seed] = times / count
            table = np.array(sorted(shares.values(), key=lambda share: -share.mean())[:top])
            mean = table.mean(axis=1)
            rows.append(
                {
                    "set": settings["large"]["set"],
                    "k": k,
                    "method": method,
                    "instances": f"{np.mean(totals):.3g}",
                    "relative_deviation": round(float(np.std(totals, ddof=1) / np.mean(totals)), 4),
                    "largest_share": round(float(mean[0]), 4),
                    "spread": round(
                        float(np.median(table.var(axis=1, ddof=1) / (mean * (1 - mean) / count))), 1
                    ),
                }
            )
            print(rows[-1], flush=True)
    return rows


def write_csv(rows: list[Row], path: Path) -> None:
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, rows[0].keys(), lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)


def read_csv(path: Path) -> list[Row]:
    def value(text: str) -> Any:
        try:
            return int(text) if text.isdigit() else float(text)
        except ValueError:
            return text

    with path.open(newline="") as file:
        return [{name: value(text) for name, text in row.items()} for row in csv.DictReader(file)]


def cell_of(row: Row) -> str:
    paper = f" ({row['paper']:,})" if row["paper"] != "" else ""
    return f"{row['mean']:,.0f} ± {row['standard_deviation']:,.0f}{paper}"


def page(parts: dict[str, list[Row]], settings: dict[str, Any]) -> str:
    """The results for people."""
    lines = [
        "# Samples to a density",
        "",
        "Made by `python experiments/sample_size/run.py`.",
        "",
        f"## Samples until {100 * settings['density']:.0f} % of all patterns have been seen",
        "",
        f"Mean ± standard deviation of one draw over {settings['seeds']} seeds"
        + "".join(
            f", {facts['seeds']} on {facts.get('name', name)}"
            for name, facts in settings["sets"].items()
            if "seeds" in facts
        )
        + ", and the paper's figure in brackets. 'uniform' is the mean over independent uniform draws.",
        "",
        "| set | k | uniform | " + " | ".join(TITLES[m] for m in settings["methods"]) + " |",
        "|---" * (3 + len(settings["methods"])) + "|",
    ]
    sizes = parts["samples_to_density"]
    for name, k in dict.fromkeys((row["set"], row["k"]) for row in sizes):
        own = [row for row in sizes if (row["set"], row["k"]) == (name, k)]
        cells = {row["method"]: cell_of(row) for row in own}
        missing = "not drawn" if own[0]["uniform"] > settings["most"] else "refused"
        texts = [cells.get(method, missing) for method in settings["methods"]]
        lines.append(f"| {name} | {k} | {own[0]['uniform']:,} | " + " | ".join(texts) + " |")
    lines += [
        "",
        "The DARTS set is a draw of 10,000 architectures; 'uniform' is from another such draw, and the"
        " paper's draw, on"
        " which all four methods need fewer samples, is unknown.",
        "",
        "## Samples against density",
        "",
        f"Mean and standard deviation over {settings['curve']['seeds']} seeds; figures in `curve.csv`.",
        "",
        "![samples against density](curve.png)",
        "",
        "## How far from uniform",
        "",
        f"{settings['bias']['count']:,} samples, {settings['bias']['seeds']} seeds. 'distance' is the total variation"
        " between the shares of patterns, averaged over all seeds, and the exact shares; independent uniform"
        " draws would have"
        f" 'noise'. 'spread' is the variance of the shares of the {settings['bias']['top']} most frequent"
        " patterns from seed to"
        " seed, as a multiple of that of independent uniform draws (median). ARS refuses zoo and zoo-large.",
        "",
        "| set | k | method | distance | noise | spread | draws with a hub | instances, estimated / true |",
        "|---|---|---|---|---|---|---|---|",
    ]
    for r in parts["bias"]:
        estimate = r["instances_estimated_to_true"]
        text = f"{estimate:.4f} ± {r['its_standard_error']:.4f}" if estimate != "" else ""
        lines.append(
            f"| {r['set']} | {r['k']} | {TITLES[r['method']]} | {r['distance']:.4f} | {r['noise']:.4f}"
            f" | {r['spread']:.2f} | {100 * r['with_hub']:.1f} % | {text} |"
        )
    lines += [
        "",
        f"A hub is a node with at least {HUB} edges. Distances of the three unbiased samplers are those of the noise."
        " NRS is biased, mildly on small cells; on zoo it rarely draws from the hubs that hold most occurrences, so its"
        " sample has little in common with a uniform one.",
        "",
        "## Sizes that cannot be counted",
        "",
        f"{settings['large']['count']:,} samples, {settings['large']['seeds']} seeds. 'instances' is the mean"
        " estimate of the"
        " number of occurrences, with its relative standard deviation from seed to seed; 'spread' as above,"
        " so the shares of"
        " frequent patterns are as precise as with samples / spread independent uniform draws.",
        "",
        "| set | k | method | instances | deviation | largest share | spread |",
        "|---|---|---|---|---|---|---|",
    ]
    for r in parts["large"]:
        lines.append(
            f"| {r['set']} | {r['k']} | {TITLES[r['method']]} | {r['instances']:.3g} |"
            f" {100 * r['relative_deviation']:.1f} %"
            f" | {100 * r['largest_share']:.2f} % | {r['spread']:.1f} |"
        )
    return "\n".join(lines) + "\n"


PARTS = {"samples_to_density": sample_size, "curve": curves, "bias": bias, "large": large}


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("--quick", action="store_true", help="one small set, few seeds")
    parser.add_argument("--only", choices=PARTS, help="make this part again and keep the others' results")
    parser.add_argument("--out", type=Path, default=HERE / "results")
    parser.add_argument(
        "--sets",
        nargs="+",
        metavar="SET",
        help="with --only samples_to_density: rows of these sets, others stay",
    )
    arguments = parser.parse_args()
    settings = tomllib.loads((HERE / "settings.toml").read_text())
    if arguments.quick:
        settings |= {"seeds": 3, "sizes": [4], "sets": {"nas-bench-201": settings["sets"]["nas-bench-201"]}}
        settings["curve"] |= {"sets": ["nas-bench-201"], "densities": [0.1, 0.2], "seeds": 2}
        settings["bias"] |= {"sets": [["nas-bench-201", 4]], "count": 2000, "seeds": 3}
        settings["large"] |= {"set": "zoo-mini", "sizes": [8], "count": 2000, "seeds": 3}
    arguments.out.mkdir(parents=True, exist_ok=True)
    if arguments.sets is not None:
        if arguments.only != "samples_to_density" or not settings["sets"].keys() >= set(arguments.sets):
            parser.error(f"--sets goes with --only samples_to_density; known: {', '.join(settings['sets'])}")
        order = [facts.get("name", name) for name, facts in settings["sets"].items()]
        some = {name: settings["sets"][name] for name in arguments.sets}
        again = {facts.get("name", name) for name, facts in some.items()}
        path = arguments.out / "samples_to_density.csv"
        rows = [row for row in read_csv(path) if row["set"] not in again]
        rows += sample_size({**settings, "sets": some})
        write_csv(sorted(rows, key=lambda row: order.index(row["set"])), path)
    for name, make in PARTS.items():
        if arguments.only in (None, name) and arguments.sets is None:
            write_csv(make(settings), arguments.out / f"{name}.csv")
    parts = {name: read_csv(arguments.out / f"{name}.csv") for name in PARTS}
    draw_curves(parts["curve"], arguments.out / "curve.png")
    text = page(parts, settings)
    (arguments.out / "README.md").write_text(text)
    print(text)


if __name__ == "__main__":
    main()
