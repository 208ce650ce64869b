"""A graph set written with the blocks of a library: they are found again by exact matching, large ones first.

A match maps types, edges and operand places one to one, and only the root is read from outside. Occurrences become the
units of a grammar of the set. Where the set tells more operators apart than the library does (an outline tells them
apart by their attributes), a block of the library becomes several, one for each kind of occurrence.
"""

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grade import _core
from grade.blocks.grammar import NOTHING, Grammar, Lists, Wiring, both_lists, levels_of
from grade.blocks.library import Library
from grade.progress import Progress, Stopped

Row = list[int]  # the nodes of an occurrence by place
Reads = tuple[
    tuple[int, int, int], ...
]  # (place that is read, place that reads, edge label), as their parts number


def match_library(
    library: Library,
    wiring: Wiring,
    coarse: Wiring,
    plain: Callable[[str], str] = str,
    edge_types: bool = True,
    progress: Progress | None = None,
) -> tuple[Grammar, dict[int, str]]:
    """(grammar of the set, symbol -> name of the blocks in it).

    ``coarse`` is the wiring in which occurrences are sought, ``wiring`` the one that tells kinds of them apart. Types
    are compared as ``plain`` gives their names, operand places where both sides know them.
    """
    sought = Sought(library, coarse, plain, edge_types)
    writer = SymbolWriter(library, wiring, sought.wiring)
    levels = levels_of(wiring)
    order = np.lexsort((np.arange(len(levels)), levels)).astype(np.uint32)
    by_type = order[np.argsort(sought.wiring.types[order], kind="stable")]
    starts = np.searchsorted(sought.wiring.types[by_type], np.arange(len(sought.wiring.type_names) + 1))
    lists = both_lists(sought.wiring)
    exact_lists = both_lists(wiring)
    taken = np.zeros(len(wiring.types), np.uint8)
    names: dict[int, str] = {}
    units: list[tuple[int, Row]] = []
    sizes = library.grammar.sizes
    ranked = sorted(range(len(library.symbols)), key=lambda i: (-int(sizes[library.symbols[i]]), i))
    for done, number in enumerate(ranked):
        if progress is not None and progress(done / len(ranked)) is False:
            raise Stopped
        symbol = library.symbols[number]
        region = sought.region(symbol)
        if region is None:
            continue
        types, edges, root = region
        roots = by_type[starts[types[root]] : starts[types[root] + 1]]
        found = occurrences(sought.wiring, lists, types, edges, root, roots, taken)
        taken[found] = 1
        examples: dict[int, Row] = {}
        for row in found.tolist():
            made, nodes = writer.symbol(symbol, row), row
            if examples and made not in examples:  # another of its symmetries may be one that is known
                for known, example in examples.items():
                    image = same_region(wiring, exact_lists, example, root, row)
                    if image is not None:
                        made, nodes = known, image
                        break
            examples.setdefault(made, nodes)
            units.append((made, nodes))
    block_of = dict(zip(library.symbols, library.names, strict=True))
    for made, symbol in writer.origin.items():
        if symbol in block_of:
            names[made] = block_of[symbol]
    return writer.grammar(folded(writer, units), levels), names


class Sought:
    """The set and the library in common words."""

    def __init__(
        self, library: Library, coarse: Wiring, plain: Callable[[str], str], edge_types: bool
    ) -> None:
        self.library = library
        operands = library.operands and any(word for _, word in coarse.label_names)

        def word(label: tuple[str, str]) -> tuple[str, str]:
            return label[0] if edge_types else "", label[1] if operands else ""

        types = {name: i for i, name in enumerate(sorted({plain(name) for name in coarse.type_names}))}
        labels = {name: i for i, name in enumerate(sorted({word(label) for label in coarse.label_names}))}
        of_type = np.array([types[plain(name)] for name in coarse.type_names], np.uint32)
        of_label = np.array([labels[word(label)] for label in coarse.label_names], np.uint32)
        self.wiring = replace(
            coarse,
            types=of_type[coarse.types] if len(of_type) else coarse.types,
            labels=of_label[coarse.labels] if len(of_label) else coarse.labels,
            type_names=tuple(types),
            label_names=tuple(labels),
        )
        theirs = library.grammar.wiring
        self.types = np.array([types.get(plain(name), -1) for name in theirs.type_names], np.int64)
        self.labels = np.array([labels.get(word(label), -1) for label in theirs.label_names], np.int64)

    def region(self, symbol: int) -> tuple[NDArray[np.int64], NDArray[np.int64], int] | None:
        """(types, edges, root) of a block; None where the set has no such types or edges at all."""
        types, edges = self.library.grammar.structure(symbol)
        types, edges = self.types[types], edges.copy()
        edges[:, 2] = self.labels[edges[:, 2]]
        if (types < 0).any() or (edges < 0).any():
            return None
        return types, edges, int(self.library.grammar.roots[symbol])


def occurrences(
    wiring: Wiring,
    lists: Lists,
    types: NDArray[np.int64],
    edges: NDArray[np.int64],
    root: int,
    roots: NDArray[np.uint32],
    taken: NDArray[np.uint8],
) -> NDArray[np.uint32]:
    """[found, nodes of the region] where a region is."""
    flat = np.ascontiguousarray(edges, np.uint32).reshape(-1)
    found = _core.region_occurrences(
        wiring.types,
        *lists,
        wiring.closed.astype(np.uint8),
        np.ascontiguousarray(types, np.uint32),
        flat,
        root,
        np.ascontiguousarray(roots, np.uint32),
        taken,
    )
    return found.reshape(-1, len(types))


def same_region(wiring: Wiring, lists: Lists, example: Row, root: int, row: Row) -> Row | None:
    """The nodes of ``row`` in an order in which they are exactly like those of the example, if there is one."""
    place = {node: i for i, node in enumerate(example)}
    in_offsets = lists[3]
    edges = [
        (place[source], place[target], label)
        for target in example
        for source, label in zip(
            wiring.sources[in_offsets[target] : in_offsets[target + 1]].tolist(),
            wiring.labels[in_offsets[target] : in_offsets[target + 1]].tolist(),
            strict=True,
        )
        if source in place
    ]
    found = occurrences(
        wiring,
        lists,
        wiring.types[example].astype(np.int64),
        np.array(edges, np.int64).reshape(-1, 3),
        root,
        np.array([row[root]], np.uint32),
        np.zeros(len(wiring.types), np.uint8),
    )
    image: Row = found[0].tolist() if len(found) else []
    return image if sorted(image) == sorted(row) else None


class SymbolWriter:
    """Symbols of a set for occurrences of a library's blocks, equal ones once."""

    def __init__(self, library: Library, wiring: Wiring, coarse: Wiring) -> None:
        self.library, self.wiring, self.coarse = library.grammar, wiring, coarse
        self.in_offsets = both_lists(wiring)[3]
        types = len(wiring.type_names)
        self.types = types
        self.first, self.second, self.copies = [NOTHING] * types, [NOTHING] * types, [0] * types
        self.sizes, self.roots = [1] * types, [0] * types
        self.reads: list[Reads] = [()] * types
        self.known: dict[tuple[Any, ...], int] = {}
        self.origin: dict[int, int] = {}  # symbol -> the library's

    def add(self, first: int, second: int, copies: int, below: bool, reads: Reads) -> int:
        """A pair of which the first part reads the second (``below``) or the other way round; or a repetition."""
        key = (first, second, copies, below, reads)
        if key not in self.known:
            self.known[key] = len(self.sizes)
            self.first.append(first)
            self.second.append(second)
            self.copies.append(copies)
            self.reads.append(reads)
            size = self.sizes[first]
            if copies:
                self.sizes.append(copies * size)
                self.roots.append((copies - 1) * size + self.roots[first])
            else:
                self.sizes.append(size + self.sizes[second])
                self.roots.append(self.roots[first] if below else size + self.roots[second])
        return self.known[key]

    def labels(self, source: int, target: int) -> list[tuple[int, int]]:
        """(label in the library's words, label) of the edges from one node to another."""
        edges = range(int(self.in_offsets[target]), int(self.in_offsets[target + 1]))
        return [
            (int(self.coarse.labels[e]), int(self.wiring.labels[e]))
            for e in edges
            if int(self.wiring.sources[e]) == source
        ]

    def reads_of(self, symbol: int, row: Row, read: int, reader: int) -> Reads:
        """Where the part whose places begin at ``reader`` reads the one whose places begin at ``read``."""
        rows = self.library.reads[self.library.read_offsets[symbol] : self.library.read_offsets[symbol + 1]]
        places = sorted({(source, place) for source, place, _ in rows.tolist()})
        return tuple(
            sorted(
                (source, place, exact)
                for source, place in places
                for _, exact in self.labels(row[read + source], row[reader + place])
            )
        )

    def symbol(self, whole: int, row: Row) -> int:
        """The symbol of one occurrence of a symbol of the library."""
        library = self.library
        made: list[int] = []  # a stack of symbols of parts
        waiting: list[tuple[int, int, bool]] = [(whole, 0, False)]
        while waiting:
            part, begin, ready = waiting.pop()
            if part < library.types:
                made.append(int(self.wiring.types[row[begin]]))
                continue
            first, copies = int(library.first[part]), int(library.copies[part])
            size = int(library.sizes[first])
            if not ready:
                waiting.append((part, begin, True))
                if copies:
                    waiting += [(first, begin + i * size, False) for i in reversed(range(copies))]
                else:
                    waiting += [(int(library.second[part]), begin + size, False), (first, begin, False)]
                continue
            if copies:
                parts = made[-copies:]
                del made[-copies:]
                links = [
                    self.reads_of(part, row, begin + (i - 1) * size, begin + i * size)
                    for i in range(1, copies)
                ]
                new = self.row_of(parts, links)
            else:
                second = made.pop()
                one = made.pop()
                below = int(library.roots[part]) < size
                read, reader = (begin + size, begin) if below else (begin, begin + size)
                new = self.add(one, second, 0, below, self.reads_of(part, row, read, reader))
            self.origin.setdefault(new, part)
            made.append(new)
        return made[0]

    def row_of(self, parts: Sequence[int], links: Sequence[Reads]) -> int:
        """Parts that each read the one before: a repetition where all are equal, else pair by pair."""
        if len(set(parts)) == 1 and len(set(links)) == 1:
            return self.add(parts[0], NOTHING, len(parts), False, links[0])
        made = parts[0]
        for part, link in zip(parts[1:], links, strict=True):
            made = self.add(made, part, 0, False, link)
        return made

    def grammar(self, units: list[tuple[int, Row]], levels: NDArray[np.uint32]) -> Grammar:
        """The grammar with these units; every other node is one by itself."""
        left = np.ones(len(self.wiring.types), np.bool_)
        left[[node for _, row in units for node in row]] = False
        single = np.flatnonzero(left)
        labels = np.array([*(made for made, _ in units), *self.wiring.types[single].tolist()], np.int64)
        rows = [np.array(row, np.uint32) for _, row in units]
        roots = np.array([row[self.roots[made]] for made, row in units], np.int64)
        order = np.argsort(np.concatenate([roots, single]), kind="stable")
        sizes = np.array(self.sizes, np.int64)
        counts = sizes[labels][order] if len(labels) else np.zeros(0, np.int64)
        pieces = [rows[i] if i < len(rows) else single[i - len(rows)][None] for i in order.tolist()]
        return Grammar(
            wiring=self.wiring,
            types=self.types,
            first=np.array(self.first, np.int64),
            second=np.array(self.second, np.int64),
            copies=np.array(self.copies, np.int64),
            sizes=sizes,
            roots=np.array(self.roots, np.int64),
            read_offsets=np.cumsum([0, *map(len, self.reads)], dtype=np.int64),
            reads=np.array([read for reads in self.reads for read in reads], np.uint32).reshape(-1, 3),
            labels=labels[order],
            offsets=np.cumsum([0, *counts.tolist()], dtype=np.int64),
            order=np.concatenate(pieces).astype(np.uint32) if pieces else np.zeros(0, np.uint32),
            levels=levels,
        )


def folded(writer: SymbolWriter, units: list[tuple[int, Row]]) -> list[tuple[int, Row]]:
    """Equal units that each read the one before, and that nothing else reads, become repetitions."""
    wiring = writer.wiring
    out_offsets, targets = both_lists(wiring)[:2]
    unit_of = {node: i for i, (_, row) in enumerate(units) for node in row}
    after: dict[int, tuple[int, Reads]] = {}
    taken: set[int] = set()
    for number, (made, row) in enumerate(units):
        root = row[writer.roots[made]]
        readers = targets[out_offsets[root] : out_offsets[root + 1]].tolist()
        others = {unit_of.get(node, -1) for node in readers}
        following = others.pop() if len(others) == 1 else -1
        if following < 0 or wiring.closed[root] or units[following][0] != made or following in taken:
            continue
        place = {node: i for i, node in enumerate(units[following][1])}
        read_at = {
            (writer.roots[made], place[node], exact)
            for node in readers
            for _, exact in writer.labels(root, node)
        }
        after[number] = (following, tuple(sorted(read_at)))
        taken.add(following)
    result = []
    for number, (made, row) in enumerate(units):
        if number in taken:
            continue
        chain, nodes, at = 1, list(row), number
        link: Reads = ()
        while at in after:
            following, reads = after[at]
            if chain > 1 and reads != link:
                result.append((writer.row_of([made] * chain, [link] * (chain - 1)), nodes))
                chain, nodes = 0, []
            link, at = reads, following
            chain, nodes = chain + 1, nodes + units[following][1]
        result.append((writer.row_of([made] * chain, [link] * (chain - 1)) if chain > 1 else made, nodes))
    return result
