"""Where the work that is allowed does not suffice: the same numbers for any number of threads and any blocks."""

from typing import Any

import numpy as np
import pytest

from grade import _core
from grade.engine.matching import SpreadMatcher
from grade.graphs import GraphSet
from grade.graphs.queries import Query
from grade.sampling.census import take_census
from grade.sources import load
from grade.verify import count_patterns
from grade.verify.limits import STEPS_PER_SECOND
from grade.verify.querying import QueryVerifier
from tests.engine.in_blocks import Blocks

ENOUGH, FOREVER = 2**63, float("inf")
CUT_OFF = 2**64 - 1


@pytest.fixture(scope="module")
def zoo() -> GraphSet:
    return load("zoo-mini")


@pytest.fixture(scope="module")
def hubs() -> GraphSet:
    """Graphs with one hub each, whose work is shared out by its neighbours."""
    random = np.random.default_rng(1)
    sizes, edges = [300, 40, 500, 300], []
    for size in sizes:
        pairs = np.argwhere(np.triu(random.random((size, size)) < 6 / size, 1))
        spokes = np.stack([np.zeros(size - 1, int), np.arange(1, size)], axis=1)
        edges.append(np.unique(np.concatenate([pairs, spokes]), axis=0))
    return GraphSet.from_edges(
        node_counts=sizes,
        node_types=np.concatenate([np.minimum(np.arange(size), 1) for size in sizes]),
        edge_counts=[len(each) for each in edges],
        edges=np.concatenate(edges),
        node_vocabulary=["hub", "leaf"],
    )


def plain(answer: Any) -> list[Any]:
    return [each.tolist() if isinstance(each, np.ndarray) else each for each in answer]


def cases(graphs: GraphSet) -> list[tuple[np.ndarray, np.ndarray]]:
    found = take_census(graphs, 4)
    best = np.argsort(~found.counts, kind="stable")[:6]
    return [(found.patterns.node_types[row], found.patterns.edges[row]) for row in best]


def limits(steps: int) -> list[int]:
    """Too few in many ways, just too few, and just enough."""
    return [0, 1, steps // 7, steps // 2, steps - 1, steps, steps + 1]


@pytest.mark.parametrize("name", ["zoo", "hubs"])
@pytest.mark.parametrize("fusible", [False, True])
def test_counting_and_packing(name: str, fusible: bool, request: pytest.FixtureRequest) -> None:
    graphs: GraphSet = request.getfixturevalue(name)
    whole = _core.Matcher(graphs.core, graphs.fusible_index if fusible else None)
    blocks = [SpreadMatcher(Blocks(n).over(graphs), fusible) for n in (2, 4)]
    for types, edges in cases(graphs):
        one = types, edges
        for kind, given in (("count", (True,)), ("pack", ())):
            full = plain(getattr(whole, kind)(*one, *given, 1, ENOUGH, FOREVER, None))
            steps = full[-1]
            for most in limits(steps):
                ways = [
                    plain(getattr(whole, kind)(*one, *given, threads, most, FOREVER, None))
                    for threads in (1, 2, 5)
                ]
                ways += [plain(getattr(each, kind)(*one, *given, 1, most, FOREVER, None)) for each in blocks]
                assert all(other == ways[0] for other in ways), (kind, most)
                if most >= steps:
                    assert ways[0] == full
                else:
                    assert ways[0][-2:] == [False, CUT_OFF]
                    known = dict(zip(full[0], full[1], strict=True))
                    assert all(n <= known[g] for g, n in zip(ways[0][0], ways[0][1], strict=True))
        rows = plain(whole.list(*one, 20, ENOUGH, FOREVER, None))
        for most in limits(rows[-1]):
            found = [plain(m.list(*one, 20, most, FOREVER, None))[0] for m in (whole, *blocks)]
            assert all(other == found[0] for other in found)
            assert found[0] == rows[0][: len(found[0])]


def test_many_at_once(hubs: GraphSet) -> None:
    patterns = take_census(hubs, 4).patterns
    types, edges = patterns.node_types, patterns.edges
    whole = _core.Matcher(hubs.core, None)
    spread = SpreadMatcher(Blocks(4).over(hubs), False)
    full = plain(whole.count_all(types, edges, 1, ENOUGH, None))
    for most in (0, 100, 10_000, 1_000_000):
        ways = [plain(whole.count_all(types, edges, threads, most, None)) for threads in (1, 3)]
        ways.append(plain(spread.count_all(types, edges, 1, most, None)))
        assert ways[0] == ways[1] == ways[2]
        assert ways[0][1] == [steps <= most for steps in full[2]]


def test_more_work_counts_more(hubs: GraphSet) -> None:
    """The first graphs in full, and a part of the next one."""
    matcher = _core.Matcher(hubs.core, None)
    types, edges = cases(hubs)[0]
    owners, counts, _, _, steps = matcher.count(types, edges, False, 1, ENOUGH, FOREVER, None)
    before: list[int] = []
    for most in np.linspace(0, steps, 9).astype(int).tolist():
        found = matcher.count(types, edges, False, 2, most, FOREVER, None)
        now = found[1].tolist()
        assert now[:-1] == counts.tolist()[: len(now) - 1] or now == []
        assert sum(now) >= sum(before)
        before = now
    assert before == counts.tolist()
    assert len(owners) == len(before)


@pytest.mark.parametrize("text", ["Conv -> * -> *", "* -> Concat", "Relu -> *"])
def test_queries(zoo: GraphSet, text: str) -> None:
    support, covered = QueryVerifier(zoo, 1).answer(Query(text))
    assert support.complete
    for share in (0, 100, 3_000, 20_000, 60_000, 10**9):
        ways = [
            QueryVerifier(zoo, threads).answer(Query(text), share / STEPS_PER_SECOND, examples=5)
            for threads in (1, 2, 5)
        ]
        facts = [(vars(found) | {"seconds": 0}, nodes.tolist()) for found, nodes in ways]
        assert facts[0] == facts[1] == facts[2]
        assert ways[0][0].occurrences <= support.occurrences
        assert not (ways[0][1] & ~covered).any()


def test_the_limit_is_of_work_not_of_time(hubs: GraphSet) -> None:
    """Whatever else the machine does: what takes at most so many steps is exact."""
    table = take_census(hubs, 4).patterns
    _, _, steps = _core.Matcher(hubs.core, None).count_all(table.node_types, table.edges, 1, ENOUGH, None)
    for limit in (int(np.median(steps)), int(steps.max())):
        counts, exact = count_patterns(hubs, table, limit / STEPS_PER_SECOND, threads=2)
        assert exact.tolist() == (steps <= limit).tolist()
        assert (counts[exact] > 0).all()
