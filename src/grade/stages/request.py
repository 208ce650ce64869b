"""What the settings of a run ask for: checked, as constraints, and as the run folder keeps it."""

from dataclasses import asdict

from grade.errors import InputError
from grade.graphs import GraphSet
from grade.search import Constraints
from grade.search.beam import START
from grade.search.ranking import ranking
from grade.settings import MineSettings
from grade.units import parse_bytes

METHODS = ("search", "sampling")


def check(settings: MineSettings, graphs: GraphSet, constraints: Constraints) -> None:
    """Refuse what cannot work before anything is written."""
    if not START <= settings.k <= 16:
        raise InputError(f"-k is {settings.k}; patterns have {START} to 16 nodes.")
    if settings.k > graphs.largest:
        raise InputError(
            f"-k is {settings.k}, but the largest graph of {settings.graphs} has {graphs.largest} nodes; lower -k."
        )
    for flag, value in (
        ("--top", settings.top),
        ("--beam", settings.beam),
        ("--samples", settings.samples),
        ("--list-size", settings.list_size),
    ):
        if value < 1:
            raise InputError(f"{flag} is {value}; give 1 or more.")
    if settings.seconds_per_pattern <= 0:
        raise InputError(f"--seconds-per-pattern is {settings.seconds_per_pattern}; give more than 0.")
    if settings.method not in METHODS:
        raise InputError(f"There is no method {settings.method!r}; known: {', '.join(METHODS)}.")
    ranking(settings.rank_by, graphs, settings.beam)
    parse_bytes(settings.memory)
    constraints.check(graphs, settings.k)


def constraints_of(settings: MineSettings) -> Constraints:
    """The constraints that the settings ask for."""
    return Constraints.of(
        contains=settings.contains or (),
        only=settings.only or (),
        never=settings.never or (),
        max_in_degree=settings.max_in_degree,
        max_out_degree=settings.max_out_degree,
        min_edges=settings.min_edges,
        max_edges=settings.max_edges,
        acyclic=settings.acyclic,
        single_source=settings.single_source,
        single_sink=settings.single_sink,
        fusible=settings.fusible,
        min_graphs=settings.min_graphs,
    )


def stored(settings: MineSettings) -> dict[str, object]:
    """The settings as run.json keeps them."""
    return {name: str(value) if name == "out" else value for name, value in asdict(settings).items()}
