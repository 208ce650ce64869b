"""`sample`: draw subgraphs of a set by any registered method, by count or by density."""

import os
import time
from collections.abc import Sequence
from dataclasses import replace

import numpy as np

from grade import _core
from grade.engine import LOCAL, Crew, Engine, Part
from grade.errors import InputError
from grade.graphs import GraphSet, SubgraphSample
from grade.machine import available_memory, thread_count
from grade.progress import Progress
from grade.sampling.census import Census, check_size
from grade.sampling.density import census_for, check_density, draw_to_density, reached_density
from grade.sampling.part_census import MOST_NODES, count_parts
from grade.sampling.sampler import WEIGHTINGS, Request, samplers

BYTES_PER_DRAW, BYTES_PER_MEMBER = 48, 12  # the most that any sampler holds at a time


def sample(
    graphs: GraphSet,
    k: int,
    method: str = "rand-esu",
    *,
    count: int | None = None,
    density: float | None = None,
    seed: int = 0,
    threads: int | None = None,
    weighting: str = "occurrences",
    r: float | None = None,
    probabilities: Sequence[float] | None = None,
    whole_passes: bool = False,
    census: Census | str | os.PathLike[str] | None = None,
    parts: int | None = None,
    progress: Progress | None = None,
    engine: Engine = LOCAL,
) -> SubgraphSample:
    """Draw connected induced subgraphs of k nodes; the same ones for the same seed, whatever the threads.

    Parameters
    ----------
    method
        ``ars``, ``nrs``, ``rand-esu``, ``rand-fase`` or ``stratified``; see the file of that name
    count
        number of draws
    density
        draw until the sample has seen this share of the patterns of the full census, in place of ``count``
    weighting
        units of equal weight: ``occurrences``, ``graphs``, or ``edges`` (graphs are chosen in proportion to their
        edges, as in the paper's ARS and NRS)
    r, probabilities
        of the enumeration tree, for Rand-ESU and Rand-FaSE only; planned when left out
    whole_passes
        Rand-ESU as published: nothing lowers the given probabilities, whatever that costs
    census
        the full census or its file, for the density; computed when needed and left out
    parts
        also count all subgraphs of up to this many nodes, for the estimators (`grade.graphs.part_counts`); 0 for none;
        by default up to 5, as far as counting takes a moment

    Examples
    --------
    >>> graphs = GraphSet.from_edges(node_counts=[4], node_types=[0, 1, 1, 0], edge_counts=[3],
    ...                              edges=[[0, 1], [1, 2], [2, 3]], node_vocabulary=["input", "conv"])
    >>> sample(graphs, 3, "nrs", count=100, seed=1)
    SubgraphSample(100 occurrences of 2 patterns, k=3, by "nrs")
    """
    sampler = samplers[method]
    if (count is None) == (density is None):
        raise InputError(
            "Give the number of samples (`count`) or the density to reach (`density`), and not both."
        )
    if count is not None and count < 1:
        raise InputError(f"The number of samples is {count}; give 1 or more.")
    if density is not None:
        check_density(density)
    if not 0 <= seed < 2**64:
        raise InputError(f"The seed is {seed}; give 0 to 2^64 - 1.")
    if weighting not in WEIGHTINGS:
        raise InputError(f"The weighting is {weighting!r}; give one of {', '.join(WEIGHTINGS)}.")
    check_size(graphs, k)
    needed, free = (count or 0) * (BYTES_PER_DRAW + BYTES_PER_MEMBER * k), available_memory()
    if needed > free:
        raise InputError(
            f"{count:,} samples of {k} nodes need {needed / 2**30:,.1f} GiB and {free / 2**30:,.1f} GiB are free;"
            " draw fewer."
        )
    thrifty = parts is None
    parts = min(k - 1, MOST_NODES) if parts is None else parts
    if not 0 <= parts < k:
        raise InputError(f"The size of the parts is {parts}; give 0 (none) to {k - 1}, for k is {k}.")
    spread = engine.over(graphs, threads)
    largest = max(spread.get(spread.begin(largest_component)))
    if largest < k:
        raise InputError(
            f"{graphs.origin} has no connected subgraph of {k} nodes (its largest connected part has"
            f" {largest}); give a smaller k."
        )
    known = (
        None
        if census is None and density is None
        else census_for(graphs, k, census, threads, progress, engine)
    )
    request = Request(
        graphs=graphs,
        k=k,
        count=count or 1,
        seed=seed,
        threads=thread_count(threads),
        engine=engine,
        weighting=weighting,
        r=r,
        probabilities=None if probabilities is None else tuple(float(p) for p in probabilities),
        whole_passes=whole_passes,
        progress=progress,
    )
    if whole_passes and method != "rand-esu":
        raise InputError(f"Whole passes are for rand-esu, not for {method}; leave them out.")
    begin = time.perf_counter()
    if density is not None and known is not None:
        result = draw_to_density(sampler, request, density, known)
    else:
        result = sampler(request).classified(spread)
    if parts > 0:
        # The share done is that of the draw, which is over; the call still lets Ctrl-C through.
        still = None if progress is None else lambda _: progress(1.0)
        # The neighbours of parts of k - 1 nodes add up to occurrences of k, unless all graphs have equal
        # weight.
        counted = count_parts(
            graphs,
            parts,
            threads,
            still,
            neighbours=parts == k - 1 and weighting == "occurrences",
            thrifty=thrifty,
            engine=engine,
        )
        result = replace(result, parts=counted)
    result.drawn.update(method=method, seed=seed, k=k, count=len(result), weighting=weighting)
    result.drawn.update(patterns=len(result.patterns), set=graphs.origin, seconds=time.perf_counter() - begin)
    if result.errors is not None:
        exact, bounded = int((result.errors == 0).sum()), int(np.isfinite(result.errors).sum())
        result.drawn.update(exact_patterns=exact, bounded_patterns=bounded - exact)
    if known is not None:
        result.drawn["density"] = reached_density(result.patterns, known)
    return result


def largest_component(part: Part, crew: Crew) -> int:
    """Nodes of the largest connected part of a block."""
    return _core.largest_component(part.graphs.core)
