"""Rand-ESU's walk over a set that lies in blocks: the draws that one walk over the whole set gives.

The generator of a root is seeded by its place among the roots, and that of every other node of the tree by its place in
its level. So the blocks exchange sums only: after each level the children of all partial subgraphs are counted over
all blocks, which sets the next probability (native/population.hpp), and each block learns how many partial subgraphs
precede its own. The population of a level, `capacity` partial subgraphs at most whatever the size of the set, goes to
the blocks and back.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grade import _core
from grade.engine import Crew, Part, Spread
from grade.sampling.sampler import Request

MOST_PASSES = 2000
SURE_PASSES = 64  # before a request can be found hopeless
LEAST_LEAVES = 500  # to choose from, so that even a single draw is as good as uniform


@dataclass(frozen=True)
class Leaves:
    """The leaves that one pass reached."""

    members: list[NDArray[np.uint32]]  # [blocks] of [n, k] nodes in the numbers of the core
    probabilities: NDArray[np.float64]  # [k] p_d that were used
    weight: float  # 1 / (p_1 ... p_k)

    def __len__(self) -> int:
        return sum(map(len, self.members))


@dataclass(frozen=True)
class Walks:
    """Passes over one set for one request."""

    request: Request
    spread: Spread
    probabilities: NDArray[np.float64]  # [k] those asked for
    capacity: int
    stream: int

    def walk(self, number: int) -> Leaves:
        """One pass."""
        k, names = self.request.k, (self.request.seed, self.stream, number)
        asked = reached = float(self.probabilities[0])
        used = [reached]
        grown = self.spread.get(self.spread.begin(enter_roots, reached, *names, keep_going=self.report(0)))
        for depth in range(1, k):
            present = float(sum(children for *_, children in grown))
            asked *= float(self.probabilities[depth])
            p = min(1.0, asked / reached, self.capacity / present if present > self.capacity else 1.0)
            reached *= p
            used.append(p)
            before = np.cumsum([0, *(len(heads) for _, heads, _ in grown)]).tolist()
            own = [(members, heads, before[i]) for i, (members, heads, _) in enumerate(grown)]
            handles = self.spread.begin(
                enter_children, p, depth + 1 == k, *names, own=own, keep_going=self.report(depth - 1)
            )
            grown = self.spread.get(handles)
        return Leaves([members for members, *_ in grown], np.array(used), 1 / reached)

    def report(self, levels: int) -> Any:
        """A progress callback for the level with this number."""
        progress, steps = self.request.progress, self.request.k - 1
        return None if progress is None else lambda share: progress(min((levels + share) / steps, 1.0))

    def gather(self, count: int) -> tuple[list[Leaves], int, bool]:
        """(passes, multiplicity of each, whether they suffice): passes that reach the number of leaves.

        Where one planned pass is not enough, a first series determines the number of passes, and is discarded
        (`grade.sampling.rand_esu`).
        """
        first = self.walk(0)
        complete = bool((first.probabilities == 1).all()) and len(first) > 0
        if complete:
            return [first], -(-count // len(first)), True
        if (self.probabilities == 1).all() and len(first) >= count:
            return [first], 1, True
        made, reached, ample = 1, len(first), max(2 * count, LEAST_LEAVES)
        while reached < ample and (made < MOST_PASSES or reached < 2 * count):
            if made >= SURE_PASSES and hopeless(count, made, reached):
                return [first], 1, False
            reached += len(self.walk(made))
            made += 1
        series, leaves = made, 0
        passes: list[Leaves] = []
        while len(passes) < series or leaves < count:
            if len(passes) >= SURE_PASSES and hopeless(count, len(passes), leaves):
                return passes, 1, False
            passes.append(self.walk(made))
            made += 1
            leaves += len(passes[-1])
        return passes, 1, True


def hopeless(count: int, passes: int, leaves: int) -> bool:
    return count * passes > MOST_PASSES * max(leaves, 1)


def sample_tree_in_blocks(
    request: Request, spread: Spread, probabilities: NDArray[np.float64], capacity: int
) -> dict[str, Any]:
    """The result of `grade._core.sample_tree` without a trie, for occurrences of equal weight."""
    stream = 2 * request.stream
    walks = Walks(request, spread, probabilities, capacity, stream)
    passes, copies, enough = walks.gather(request.count)
    leaves = sum(map(len, passes)) * copies
    facts = {
        "leaves": leaves,
        "passes": len(passes) * copies,
        "probabilities": passes[0].probabilities,
        "hopeless": not enough,
    }
    if not enough:
        return {**facts, "occurrences": np.zeros((0, request.k), np.uint32), "weights": np.zeros(0)}
    places = _core.places_of_choice(leaves, request.count, request.seed, stream).astype(np.int64)
    sizes = np.array([len(one) for one in passes])
    starts = np.concatenate([[0], np.cumsum(sizes)])
    number = (
        np.zeros(len(places), np.int64) if copies > 1 else np.searchsorted(starts, places, side="right") - 1
    )
    place = places % sizes[0] if copies > 1 else places - starts[number]
    occurrences = np.zeros((len(places), request.k), np.uint32)
    for which, rows in chosen_by_pass(number):
        occurrences[rows] = ids_of(spread, passes[which].members, place[rows])
    share = request.count / leaves
    weights = np.array([one.weight for one in passes])[number] / (len(passes) * copies * share)
    return {**facts, "occurrences": occurrences, "weights": weights}


def chosen_by_pass(number: NDArray[np.int64]) -> Iterator[tuple[int, NDArray[np.int64]]]:
    for which in np.unique(number).tolist():
        yield which, np.flatnonzero(number == which)


def ids_of(spread: Spread, members: list[NDArray[np.uint32]], place: NDArray[np.int64]) -> NDArray[np.uint32]:
    """[n, k] the leaves at these places of a pass, as ascending ids of the set."""
    starts = np.concatenate([[0], np.cumsum([len(of_block) for of_block in members])])
    block = np.searchsorted(starts, place, side="right") - 1
    rows = [np.flatnonzero(block == i) for i in range(len(members))]
    own = [
        (of_block[place[some] - starts[i]],)
        for i, (of_block, some) in enumerate(zip(members, rows, strict=True))
    ]
    found = spread.get(spread.begin(ids_of_set, own=own))
    result = np.zeros((len(place), members[0].shape[1]), np.uint32)
    for some, ids in zip(rows, found, strict=True):
        result[some] = ids
    return result


def enter_roots(part: Part, crew: Crew, p: float, seed: int, stream: int, number: int) -> Any:
    return _core.tree_roots(part.graphs.core, p, seed, stream, number, part.first_node, False)


def enter_children(
    part: Part,
    crew: Crew,
    p: float,
    last_level: bool,
    seed: int,
    stream: int,
    number: int,
    members: NDArray[np.uint32],
    heads: NDArray[np.uint32],
    before: int,
) -> Any:
    return _core.tree_children(
        part.graphs.core,
        members,
        heads,
        p,
        last_level,
        seed,
        stream,
        number,
        before,
        False,
        crew.threads,
        crew.keep_going,
    )


def ids_of_set(part: Part, crew: Crew, members: NDArray[np.uint32]) -> NDArray[np.uint32]:
    return part.of_the_whole(_core.ids_of_set(part.graphs.core, members))
