"""The ablations: which there are, and what their grids are made of."""

from collections.abc import Callable
from itertools import product

from cells import DENSITY, PARTS, Settings
from grid import Cells, Grid, Place, grid, with_paper, with_papers_figure, with_weights
from summary import AUTOREGRESSIVE, SAMPLERS, SCORINGS, TITLES, Key, Paper, Summaries, sample_alone

ORDERS = ("linear", "level", "canonical", "all")
REGULARISED = {
    "fast": "as in the preset",
    "fast-dropout-0": "no dropout",
    "fast-dropout-30": "dropout 0.3",
    "fast-decay-0": "no decay",
    "fast-decay-10": "decay 0.1",
}
SHOWN = (
    "paper",
    "default",
    "one-network",
    "no-interchange",
    "learn-parts",
    "larger",
    *REGULARISED,
    "paper-five-states",
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

    def rates(place: Place) -> Cells:
        for scoring in ("paper", "default"):
            for variant, column in (("paper", "as printed"), ("paper-five-states", "of five states")):
                key = Key(*place, "rand-esu", "disco", variant, scoring)
                yield f"{TITLES['disco']}, {SCORINGS[scoring]}", column, key

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

    def regularised(place: Place) -> Cells:
        for scoring, words in (("sample-only", "parts not weighed"), ("default", "parts weighed")):
            for variant, column in REGULARISED.items():
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
            "rate",
            "The rate of the noise",
            "DisCo-E's noise as the paper prints it, whose rate grows with the number of node types, and with the rate"
            " that it would have for five of them (`states`), as in the default preset.",
            "rate",
            settings,
            summaries,
            rates,
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
            "regularisation",
            "Dropout and weight decay",
            "One small network (the fast preset: dropout 0.1, weight decay 0.01) with less and more of each; held-out"
            " types choose the number of steps.",
            "training",
            settings,
            summaries,
            regularised,
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
