"""Sampling density: the share of the patterns of the full census that a sample has seen.

To draw to a density, draw in growing batches until enough patterns have been seen, and cut right after the
occurrence that brought the last of them. The curve of the number of samples against density is the paper's
figure in "Impact of Sampling Density on Sampling Cost".
"""

import math
import os
from collections.abc import Iterator, Sequence
from dataclasses import replace

import numpy as np
from numpy.typing import NDArray

from grade.engine import LOCAL, Engine
from grade.errors import InputError
from grade.graphs import GraphSet, PatternTable, SubgraphSample
from grade.machine import available_memory
from grade.progress import Progress
from grade.sampling.census import Census, take_census
from grade.sampling.sampler import Request, Sampler

FIRST_BATCH = 1_000
MOST_DRAWS = 100_000_000


class Recorder:
    """Records where in a growing sample each pattern of the census was first seen."""

    def __init__(self, census: Census) -> None:
        self.census = census
        self.size = 0
        self.first = np.full(len(census.patterns), -1, np.int64)  # [patterns] place of the first occurrence

    def add(self, sample: SubgraphSample) -> None:
        ids, places = np.unique(sample.pattern_ids, return_index=True)
        rows = rows_of(sample.patterns, self.census)[ids]
        new = self.first[rows] < 0
        self.first[rows[new]] = self.size + places[new]
        self.size += len(sample)

    @property
    def seen(self) -> int:
        return int((self.first >= 0).sum())

    def draws_to_see(self, patterns: int) -> int:
        """The number of draws until the given number of patterns had been seen."""
        return int(np.sort(self.first[self.first >= 0])[patterns - 1]) + 1


def draw_to_density(sampler: Sampler, request: Request, density: float, census: Census) -> SubgraphSample:
    """The shortest prefix of a sampler's sequence that reaches the density."""
    recorder = Recorder(census)
    wanted = patterns_at(density, census)
    batches = list(grow(sampler, request, recorder, wanted))
    return first_rows(batches, recorder.draws_to_see(wanted))


def density_curve(
    sampler: Sampler, request: Request, densities: Sequence[float], census: Census
) -> NDArray[np.int64]:
    """[densities] the number of draws of one sequence that each density takes."""
    for density in densities:
        check_density(density)
    recorder = Recorder(census)
    for _ in grow(sampler, request, recorder, patterns_at(max(densities), census)):
        pass
    return np.array([recorder.draws_to_see(patterns_at(d, census)) for d in densities])


def grow(sampler: Sampler, request: Request, recorder: Recorder, wanted: int) -> Iterator[SubgraphSample]:
    """Batches of one sequence, recorded, until enough patterns have been seen."""

    def progress(_: float) -> bool:
        return request.progress is None or request.progress(min(recorder.seen / wanted, 1.0)) is not False

    stream = 0
    while recorder.seen < wanted:
        count = max(FIRST_BATCH, 2 * wanted, recorder.size)
        if recorder.size + count > MOST_DRAWS or count * (4 * request.k + 16) * 8 > available_memory():
            raise InputError(
                f"{recorder.size:,} samples show {recorder.seen:,} of the {wanted:,} patterns that the density"
                " asks for, and more are too many to hold; give a lower density."
            )
        batch = sampler(replace(request, count=count, stream=stream, progress=progress))
        result = batch.classified(request.spread)
        recorder.add(result)
        yield result
        stream += 1


def first_rows(batches: Sequence[SubgraphSample], count: int) -> SubgraphSample:
    """The first ``count`` occurrences of several samples in a row. Each sample's weights are brought to a mean of 1:
    the place of the cut depends on the draws, so sums of weights would not be unbiased in any case.
    """
    tables = [batch.patterns for batch in batches]
    types = np.concatenate([table.node_types for table in tables])
    edges = np.concatenate([table.edges for table in tables])
    automorphisms = np.concatenate([table.automorphisms for table in tables])
    everything = replace(tables[0], node_types=types, edges=edges, automorphisms=automorphisms)
    starts = np.cumsum([0, *map(len, tables[:-1])])
    ids = np.concatenate([b.pattern_ids + s for b, s in zip(batches, starts, strict=True)])[:count]
    _, one_of, kind = np.unique(everything.keys, return_index=True, return_inverse=True)
    used, pattern_ids = np.unique(kind[ids], return_inverse=True)  # in the order of the keys: sorted
    weights = np.concatenate([batch.weights / batch.weights.mean() for batch in batches])[:count]
    return SubgraphSample(
        np.concatenate([batch.occurrences for batch in batches])[:count],
        weights,
        pattern_ids.astype(np.int32),
        everything.take(one_of[used]),
        dict(batches[-1].drawn),
    )


def check_density(density: float) -> None:
    if not 0 < density <= 1:
        raise InputError(f"The density is {density}; give a share of the patterns above 0 and at most 1.")


def patterns_at(density: float, census: Census) -> int:
    """The number of patterns that make up this density, rounded up."""
    return max(1, math.ceil(density * len(census.patterns) - 1e-9))


def reached_density(patterns: PatternTable, census: Census) -> float:
    """The share of the census's patterns among these patterns."""
    rows_of(patterns, census)  # refuses a census of another set
    return len(patterns) / len(census.patterns)


def rows_of(patterns: PatternTable, census: Census) -> NDArray[np.int64]:
    """[patterns] the row of each in the census."""
    rows = census.patterns.find(patterns)
    if (rows < 0).any():
        raise InputError(
            f"The census of {census.set} lacks patterns that were drawn, so it is of another graph set; give the"
            " census of this one, or leave it out."
        )
    return rows


def census_for(
    graphs: GraphSet,
    k: int,
    census: Census | str | os.PathLike[str] | None,
    threads: int | None,
    progress: Progress | None,
    engine: Engine = LOCAL,
) -> Census:
    """The census that a density refers to: as given, from its file, or taken now."""
    if census is None:
        return take_census(graphs, k, threads, progress, engine)
    result = census if isinstance(census, Census) else Census.load(census)
    vocabularies = (result.patterns.node_vocabulary, result.patterns.edge_vocabulary)
    if result.k != k:
        raise InputError(
            f"The census is of subgraphs of {result.k} nodes, not of {k}; give the census for k = {k}."
        )
    if vocabularies != (graphs.node_vocabulary, graphs.edge_vocabulary):
        raise InputError(
            f"The census of {result.set} has other types than {graphs.origin}; give the census of this set."
        )
    return result
