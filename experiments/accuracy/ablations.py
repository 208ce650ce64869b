"""The ablations as grids: a row for each set, size and method, a column for each choice. Tables and figures are made of
the same grids.
"""

from collections.abc import Callable, Iterable
from dataclasses import dataclass, field, replace
from itertools import product

from cells import DENSITY, PARTS, Settings
from summary import (
    AUTOREGRESSIVE,
    SAMPLERS,
    SCORINGS,
    TITLES,
    Figure,
    Key,
    Paper,
    Summaries,
    Summary,
    pairs,
    sample_alone,
)

ORDERS = ("linear", "level", "canonical", "all")
SHOWN = (
    "paper",
    "default",
    "fast",
    "one-network",
    "no-interchange",
    "learn-parts",
    "larger",
)  # in grids of their own
PATHS = {"rounds-paper": "the paper's path", "rounds-bridge": "bridge, 20 steps"}
DIFFUSION = ("digress", "defog", "disco")
NOISES = {"own": "own", "shared": "shared", "stratified": "own, stratified", "both": "shared, stratified"}
OPEN = (  # variant, scoring, and in words: what the paper leaves open
    ("paper", "paper", "as in the tables"),
    ("paper-last", "paper", "weights of the last step"),
    ("paper-512", "paper", "batches of 512"),
    ("paper-512-last", "paper", "512, last step"),
    ("paper-1024-last", "paper", "1,024, last step"),
    ("paper", "paper-probabilities", "mean of probabilities"),
    ("paper-all", "paper", "all orders"),
    ("paper", "paper-eta-0", "eta = 0"),
    ("paper", "paper-eta-10", "eta = 10"),
)
Place = tuple[str, int]  # set and size


@dataclass(frozen=True)
class Grid:
    """One ablation."""

    name: str  # of its figure's file
    title: str
    text: str
    axis: str  # what the columns are
    columns: list[str]
    rows: dict[tuple[Place, str], dict[str, Figure]]  # place and method -> column -> Spearman's rho
    number: dict[tuple[Place, str], int]  # seeds, of each row
    beside: dict[tuple[Place, str], dict[str, Figure]] = field(
        default_factory=dict
    )  # the paper's figures, likewise
    noted: str = ""  # what the notes are
    notes: dict[tuple[Place, str], str] = field(default_factory=dict)  # a last column, of text


Cells = Iterable[tuple[str, str, Key]]  # method, column, and which entry


def grid(
    name: str,
    title: str,
    text: str,
    axis: str,
    settings: Settings,
    summaries: Summaries,
    cells: Callable[[Place], Cells],
) -> Grid | None:
    """The grid of what has results; None where less than two choices have.

    A row is the mean over the seeds that all its choices have; what is the same for every sample counts for all seeds.
    """
    order: dict[str, None] = {}
    found: dict[tuple[Place, str], dict[str, Summary]] = {}
    for place in pairs(settings, summaries):
        for method, column, key in cells(place):
            if key in summaries:
                order[column] = None
                found.setdefault((place, method), {})[column] = summaries[key]
    rows, seeds = {}, {}
    for row, choices in found.items():
        if len(choices) > 1:
            drawn = {
                c: choice for c, choice in choices.items() if choice.results[0]["estimator"] not in PARTS
            }
            of_choices = [{r["seed"] for r in choice.results} for choice in (drawn or choices).values()]
            common = set.intersection(*of_choices)
            seeds[row] = len(common)
            rows[row] = {
                column: Summary(
                    [r for r in choice.results if column not in drawn or r["seed"] in common]
                ).figure("spearman")
                for column, choice in choices.items()
                if common
            }
    columns = [column for column in order if any(column in choices for choices in rows.values())]
    return Grid(name, title, text, axis, columns, rows, seeds) if rows else None


def with_paper(one: Grid, settings: Settings, paper: Paper) -> Grid:
    """The grid of the sampling methods with the paper's figures, which are of its own way to score."""
    estimators, samplers = ({title: name for name, title in t.items()} for t in (TITLES, SAMPLERS))
    beside: dict[tuple[Place, str], dict[str, Figure]] = {}
    for (name, k), method in one.rows:
        for column in one.columns:
            key = (
                settings["sets"][name]["paper"],
                k,
                samplers[column],
                estimators.get(method.partition(", ")[0], method),
            )
            if key in paper:
                beside.setdefault(((name, k), method), {})[column] = paper[key]["spearman"]
    return replace(one, beside=beside)


def with_weights(one: Grid, summaries: Summaries) -> Grid:
    """The grid of the counts of parts with the weights that the fits gave them: means over all seeds."""
    notes = {}
    for place, method in one.rows:
        summary = summaries.get(Key(*place, "rand-esu", "autoregressive", "default", "default"))
        results = [] if summary is None else summary.results
        # Earlier versions left the model's score as it is where too few classes could be held out.
        alone = {"weights": [1.0, 0.0, 0.0]}
        fits = [r["calibration"].get(str(place[1]), alone)["weights"] for r in results]
        if fits:
            notes[place, method] = ", ".join(f"{sum(w) / len(w):.2f}" for w in zip(*fits, strict=True))
    return replace(one, noted="weights of model, joined, rarest", notes=notes)


def with_papers_figure(one: Grid, settings: Settings, paper: Paper) -> Grid:
    """The grid of what the paper leaves open with the paper's own figure."""
    notes, estimators = {}, {title: name for name, title in TITLES.items()}
    for (name, k), method in one.rows:
        estimator = estimators[method.partition(", ")[0]]
        known = paper.get((settings["sets"][name]["paper"], k, "rand-esu", estimator))
        if known is not None:
            notes[(name, k), method] = f"{known['spearman'][0]:.3f}"
    return replace(one, noted="paper", notes=notes)


def grids(settings: Settings, summaries: Summaries, paper: Paper) -> list[Grid]:
    """All ablations that have results."""

    def rounds(place: Place) -> Cells:
        for estimator, (scoring, path) in product(DIFFUSION, PATHS.items()):
            known = {key.scoring for key in summaries if key.scoring.startswith(f"{scoring}/")}
            for name in sorted(known, key=lambda name: int(name.rpartition("/")[2])):
                key = Key(*place, "rand-esu", estimator, "paper", name)
                yield f"{TITLES[estimator]}, {path}", name.rpartition("/")[2], key

    def left_open(place: Place) -> Cells:
        for estimator, (variant, scoring, column) in product(("disco", "defog"), OPEN):
            key = Key(*place, "rand-esu", estimator, variant, scoring)
            yield f"{TITLES[estimator]}, {SCORINGS['paper']}", column, key

    def densities(place: Place) -> Cells:
        for density in sorted({key.density for key in summaries}):
            column = f"{density:g}"
            for estimator, title in (
                ("frequency", TITLES["frequency"]),
                ("autoregressive", AUTOREGRESSIVE["default"]),
            ):
                yield title, column, Key(*place, "rand-esu", estimator, "default", "default", density)
            yield AUTOREGRESSIVE["sample-only"], column, sample_alone(settings, *place, density=density)
            for estimator, scoring in product(DIFFUSION, ("paper", "default")):
                # A row with no more than the tables' density is no ablation; grid() leaves it out.
                key = Key(*place, "rand-esu", estimator, "paper", scoring, density)
                yield f"{TITLES[estimator]}, {SCORINGS[scoring]}", column, key

    def samplers(place: Place) -> Cells:
        for sampler, title in SAMPLERS.items():
            yield TITLES["frequency"], title, Key(*place, sampler, "frequency", "default", "default")
            for estimator, scoring in product(("graphvae", *DIFFUSION), ("paper", "default")):
                method = f"{TITLES[estimator]}, {SCORINGS[scoring]}"
                yield method, title, Key(*place, sampler, estimator, "paper", scoring)
            yield AUTOREGRESSIVE["sample-only"], title, sample_alone(settings, *place, sampler)
            key = Key(*place, sampler, "autoregressive", "default", "default")
            yield AUTOREGRESSIVE["default"], title, key

    def parts(place: Place) -> Cells:
        for name in PARTS:
            yield (
                "parts and autoregressive",
                f"{name} alone",
                Key(*place, "rand-esu", name, "default", "default"),
            )
        yield "parts and autoregressive", "sample alone", sample_alone(settings, *place)
        key = Key(*place, "rand-esu", "autoregressive", "default", "default")
        yield "parts and autoregressive", "both", key

    def exchanged(place: Place) -> Cells:
        for scoring, words in (("sample-only", "parts not weighed"), ("default", "parts weighed")):
            for variant, column in (("no-interchange", "told apart"), ("default", "learned as one")):
                key = Key(*place, "rand-esu", "autoregressive", variant, scoring)
                yield f"autoregressive, {words}", column, key

    def without_and_with(scoring: str, what: str) -> Callable[[Place], Cells]:
        def cells(place: Place) -> Cells:
            ways = {scoring: "without", "default": f"with {what}"}
            keys = {name: Key(*place, "rand-esu", "autoregressive", "default", name) for name in ways}
            if all(key in summaries for key in keys.values()):
                yield from (("autoregressive", column, keys[name]) for name, column in ways.items())

        return cells

    def by_scoring(prefix: str, method: Callable[[str], tuple[str, str]]) -> Callable[[Place], Cells]:
        names = [name for name in settings["scorings"] if name.startswith(prefix)]

        def cells(place: Place) -> Cells:
            for name in names:
                yield *method(name), Key(*place, "rand-esu", "disco", "paper", name)

        return cells

    def kernels(name: str) -> tuple[str, str]:
        _, kernel, evaluations = name.split("-")
        return f"DisCo-E, {int(evaluations):,} evaluations", {"paper": "the paper's", "bridge": "bridge"}[
            kernel
        ]

    def orders(place: Place) -> Cells:
        for family in ORDERS:
            for estimator, variant, scorings in (
                ("autoregressive", f"orders-{family}", ("default", "default-no-orbit")),
                ("disco", "paper" if family == "level" else f"paper-{family}", ("paper-orbit", "paper")),
            ):
                for scoring, words in zip(scorings, ("corrected", "not corrected"), strict=True):
                    yield (
                        f"{TITLES[estimator]}, {words}",
                        family,
                        Key(*place, "rand-esu", estimator, variant, scoring),
                    )

    def by_variant(ways: dict[str, str]) -> Callable[[Place], Cells]:
        def cells(place: Place) -> Cells:
            for variant, column in ways.items():
                key = Key(*place, "rand-esu", "autoregressive", variant, "default")
                yield AUTOREGRESSIVE["default"], column, key

        return cells

    def learned(place: Place) -> Cells:
        ways = (
            ("sample-only", "parts not weighed"),
            ("default-no-counts", "parts weighed, the sample's counts not"),
        )
        for scoring, words in ways:
            for variant, column in (("default", "the sample"), ("learn-parts", "the sample and its parts")):
                key = Key(*place, "rand-esu", "autoregressive", variant, scoring)
                yield f"autoregressive, {words}", column, key

    def variants(place: Place) -> Cells:
        shown = {
            *SHOWN,
            *(variant for variant, _, _ in OPEN),
            *(f"{kind}-{family}" for kind in ("orders", "paper") for family in ORDERS),
        }
        others = {k.variant: None for k in summaries if k.variant not in shown and k.density == DENSITY}
        for estimator, base in (("autoregressive", "default"), ("disco", "paper")):
            for variant in [base, *others]:
                key = Key(*place, "rand-esu", estimator, variant, "default")
                yield TITLES[estimator], variant, key

    made = [
        grid(
            "parts",
            "Counts of parts",
            "Ranking by the exact counts of small parts without any model ('joined' and 'rarest', which depend on no"
            " sample), by the autoregressive model of the sample alone, and by both with weights fitted to"
            " occurrences that were hidden.",
            "evidence",
            settings,
            summaries,
            parts,
        ),
        grid(
            "interchange",
            "Interchangeable types",
            "Node types that the counts of parts do not tell apart, told apart or learned as one.",
            "training",
            settings,
            summaries,
            exchanged,
        ),
        grid(
            "learned",
            "Parts that are learned",
            "Networks that learn the sample's patterns only, and networks that learn the largest parts as well,"
            " as often as these occur (`learn_parts`).",
            "training",
            settings,
            summaries,
            learned,
        ),
        grid(
            "counts",
            "Counts of the sample",
            "Model and parts, without and with a correction by how often the sample shows each pattern.",
            "evidence",
            settings,
            summaries,
            without_and_with("default-no-counts", "the sample's counts"),
        ),
        grid(
            "agreement",
            "Agreement",
            "Scores of each pattern by itself, and scores that are made to agree with how many neighbours all"
            " occurrences of each part have together.",
            "scores",
            settings,
            summaries,
            without_and_with("default-no-agreement", "agreement"),
        ),
        grid(
            "rounds",
            "Rounds",
            "Scores after so many rounds: the paper's path (DiGress-E: 500 steps, others 100) without orbit correction,"
            " and the bridge as we recommend.",
            "rounds",
            settings,
            summaries,
            rounds,
        ),
        grid(
            "cost",
            "Steps x rounds at equal cost",
            "400 network evaluations per pattern, split between the steps of a path and the number of paths.",
            "steps x rounds",
            settings,
            summaries,
            by_scoring("cost-", lambda name: ("DisCo-E, bridge", name.removeprefix("cost-"))),
        ),
        grid(
            "kernel",
            "Kernel",
            "The paper's reverse transition against the exact bridge: 20 rounds, orbit-corrected.",
            "kernel",
            settings,
            summaries,
            by_scoring("kernel-", kernels),
        ),
        grid(
            "noise",
            "Noise",
            "Noise of each pattern's own, the same noise for all, and each with rounds that are spread evenly.",
            "noise",
            settings,
            summaries,
            by_scoring("noise-", lambda name: ("DisCo-E", NOISES[name.removeprefix("noise-")])),
        ),
        grid(
            "open",
            "What the paper leaves open",
            "Estimators as in the tables (the average of the weights over the last tenth of the steps, batches of 64"
            " graphs below 5,000 occurrences, the mean of logarithms over rounds as in the paper's algorithm 2, level"
            " orders; DeFoG-E: eta = 1) and with one of these choices made otherwise, or two: what it would take to be"
            " as far from the truth as the paper.",
            "choice",
            settings,
            summaries,
            left_open,
        ),
        grid(
            "orders",
            "Order family",
            "The orders of a pattern's nodes that are trained on, with and without the correction from a matrix to its"
            " class. Canonical order is a single order, so there is nothing to correct.",
            "orders",
            settings,
            summaries,
            orders,
        ),
        grid(
            "density",
            "Density",
            "Share of the types that the sample shows.",
            "density",
            settings,
            summaries,
            densities,
        ),
        grid(
            "together",
            "One network for all sizes",
            "One training on the samples of both sizes against one for each.",
            "networks",
            settings,
            summaries,
            by_variant({"default": "one for each size", "one-network": "one for sizes 4 and 5"}),
        ),
        grid(
            "samplers",
            "Sampling method",
            "Every estimator, trained on the samples of every method; the paper's figure in brackets.",
            "sampler",
            settings,
            summaries,
            samplers,
        ),
        grid(
            "presets",
            "The fast preset",
            "One small network, which a CPU trains in minutes, against the default: five networks, sized by the types"
            " seen.",
            "preset",
            settings,
            summaries,
            by_variant({"fast": "fast", "default": "default"}),
        ),
        grid(
            "larger",
            "Larger networks",
            "Networks of 4 layers of 256, at most 4,000 steps, against those of the default, sized by the types seen.",
            "networks",
            settings,
            summaries,
            by_variant({"default": "as by default", "larger": "larger"}),
        ),
        grid(
            "variants",
            "Other variants",
            "Other settings of the training.",
            "variant",
            settings,
            summaries,
            variants,
        ),
    ]
    found = [one for one in made if one is not None]
    finish: dict[str, Callable[[Grid], Grid]] = {
        "samplers": lambda one: with_paper(one, settings, paper),
        "parts": lambda one: with_weights(one, summaries),
        "open": lambda one: with_papers_figure(one, settings, paper),
    }
    return [finish.get(one.name, lambda one: one)(one) for one in found]
