"""Blocks of a graph set: the flow, and its result."""

import time
from collections import Counter
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, fields, replace
from functools import cached_property
from importlib import import_module
from pathlib import Path
from typing import Any

import numpy as np
from numpy.typing import NDArray

from grade import _core
from grade.blocks.grammar import NOTHING, Grammar, Wiring, base_name, make_grammar
from grade.blocks.growth import Grown, grown_regions
from grade.blocks.library import read_library, refuse_limits
from grade.blocks.library_matches import match_library
from grade.blocks.naming import NamesError, computed_types, constant_nodes, renamed
from grade.blocks.naming import names as make_names
from grade.blocks.places import Places, best_library, find_places
from grade.blocks.rules import body, body_lengths, rules_worth_keeping, tokens
from grade.errors import InputError
from grade.graphs import GraphSet
from grade.progress import Progress
from grade.settings import BlocksSettings
from grade.sources import as_graphs

LIBRARY_SIZES = (10, 20, 50, 100)


@dataclass(frozen=True)
class Block:
    """A region that repeats."""

    name: str
    nodes: int
    count: int  # occurrences, also within other blocks; they share no node
    graphs: int
    coverage: int  # nodes in occurrences
    symbol: int = field(repr=False)


@dataclass(frozen=True)
class Model:
    """One graph and the number of its units: nodes, blocks and repetitions, each counted once."""

    name: str
    nodes: int
    units: int


@dataclass(frozen=True)
class Unit:
    """A piece of an outline: an operator, a block, or one of them several times in a row."""

    symbol: int  # the symbol of the unit
    base: int  # the repeated symbol; the symbol itself if it is not a repetition
    copies: int
    begin: int  # first place in the order of the grammar

    def __str__(self) -> str:
        return f"{self.copies} x {self.base}"


@dataclass(frozen=True, eq=False)
class Blocks:
    """The result: blocks, the one that saves most first, and every graph written with them."""

    graphs: GraphSet
    grammar: Grammar
    kept: NDArray[np.bool_]  # [symbols] which of them are blocks
    places: Places
    blocks: list[Block]
    settings: BlocksSettings
    seconds: float  # of the search, without reading the set
    left_out: tuple[str, ...] = ()  # graphs of the set with a directed cycle; they are not in ``graphs``

    @property
    def nodes(self) -> int:
        return self.graphs.nodes

    @cached_property
    def units_of(self) -> NDArray[np.int64]:
        """[graphs] units left of each."""
        grammar = self.grammar
        lengths = body_lengths(grammar, self.kept)
        whole = self.kept | (grammar.copies > 0)
        lengths[whole] = 1
        return np.bincount(
            grammar.graph_of_unit, weights=lengths[grammar.labels], minlength=len(self.graphs)
        ).astype(np.int64)

    @property
    def units(self) -> int:
        return int(self.units_of.sum())

    @property
    def models(self) -> list[Model]:
        rows = zip(
            self.graphs.graph_names, self.graphs.node_counts.tolist(), self.units_of.tolist(), strict=True
        )
        return [Model(*row) for row in rows]

    @cached_property
    def unreached(self) -> list[Grown]:
        """Larger regions with one output that repeat as often as a block and that no merge reached."""
        if self.settings.blocks is not None or self.settings.outputs > 1:  # taken as it is; not of one output
            return []
        named = [(block.name, block.symbol) for block in self.blocks]
        return grown_regions(self.grammar, self.places, named, self.settings.max_size)

    @cached_property
    def by_symbol(self) -> dict[int, Block]:
        return {block.symbol: block for block in self.blocks}

    @cached_property
    def rank(self) -> dict[int, int]:
        """The place of each block in the list, by symbol."""
        return {block.symbol: place for place, block in enumerate(self.blocks)}

    def __len__(self) -> int:
        return len(self.blocks)

    def __iter__(self) -> Iterator[Block]:
        return iter(self.blocks)

    def __getitem__(self, name: str) -> Block:
        for block in self.blocks:
            if block.name == name:
                return block
        raise InputError(f"There is no block {name!r}; see the list of blocks.")

    def __repr__(self) -> str:
        return (
            f"Blocks({self.graphs.origin!r}: {self.nodes:,} nodes in {len(self.graphs):,} graphs as"
            f" {self.units:,} units, {len(self.blocks):,} blocks)"
        )

    def name_of(self, symbol: int) -> str:
        """The name of a block or a node type. A repetition in a repetition is written out: ``(2 x Relu)``."""
        if symbol in self.by_symbol:
            return self.by_symbol[symbol].name
        if copies := int(self.grammar.copies[symbol]):
            return f"({copies} x {self.name_of(int(self.grammar.first[symbol]))})"
        return self.grammar.wiring.type_names[symbol]

    def text(self, unit: Unit) -> str:
        """A unit as text for an outline."""
        return f"{unit.copies} x {self.name_of(unit.base)}" if unit.copies > 1 else self.name_of(unit.base)

    def unit(self, symbol: int, begin: int) -> Unit:
        copies = int(self.grammar.copies[symbol])
        return Unit(symbol, int(self.grammar.first[symbol]) if copies else symbol, max(copies, 1), begin)

    def inside(self, symbol: int, begin: int | None = None) -> list[Unit]:
        """The units of a block, in an order in which they can be computed; of the occurrence that begins at this place
        of the grammar's order, the first one when left out.
        """
        start = int(self.places.of(symbol)[0]) if begin is None else begin
        return self.sorted_units([(part, start + at) for part, at in body(self.grammar, self.kept, symbol)])

    def outline(self, graph: int) -> list[Unit]:
        """The units of a graph, in an order in which they can be computed."""
        units = np.flatnonzero(self.grammar.graph_of_unit == graph)
        found = [
            (part, int(self.grammar.offsets[unit]) + at)
            for unit in units.tolist()
            for part, at in tokens(self.grammar, self.kept, int(self.grammar.labels[unit]))
        ]
        return self.sorted_units(found)

    def producers(self, found: Sequence[tuple[int, int]]) -> list[list[int]]:
        """For each (symbol, first place) the others that it reads, as places in this list."""
        grammar, wiring = self.grammar, self.grammar.wiring
        number: dict[int, int] = {}
        for index, (symbol, begin) in enumerate(found):
            for node in grammar.order[begin : begin + grammar.sizes[symbol]].tolist():
                number[node] = index
        read: list[set[int]] = [set() for _ in found]
        for node, index in number.items():
            edges = slice(self.graphs.in_offsets[node], self.graphs.in_offsets[node + 1])
            read[index].update(number.get(source, index) for source in wiring.sources[edges].tolist())
        return [sorted(sources - {index}) for index, sources in enumerate(read)]

    def sorted_units(self, found: Sequence[tuple[int, int]]) -> list[Unit]:
        """Producers before consumers, with chains side by side."""
        grammar = self.grammar
        producers = self.producers(found)
        consumed = [False] * len(found)
        for sources in producers:
            for source in sources:
                consumed[source] = True
        depth = [int(grammar.levels[grammar.order[begin + grammar.roots[symbol]]]) for symbol, begin in found]
        done = [False] * len(found)
        result: list[int] = []
        for end in sorted((i for i in range(len(found)) if not consumed[i]), key=lambda i: (depth[i], i)):
            waiting = [(end, False)]
            while waiting:
                index, ready = waiting.pop()
                if done[index]:
                    continue
                if ready:
                    done[index] = True
                    result.append(index)
                    continue
                waiting.append((index, True))
                inputs = sorted(producers[index], key=lambda i: (-depth[i], i))  # the longest path first
                waiting += [(i, False) for i in reversed(inputs)]
        return [self.unit(*found[index]) for index in result]

    def library(self, most: int = 100) -> list[tuple[Block, int]]:
        """Blocks that cover most nodes together, chosen one by one, with the nodes covered up to each."""
        chosen = best_library(self.grammar, self.places, [block.symbol for block in self.blocks], most)
        return [(self.by_symbol[symbol], covered) for symbol, covered in chosen]

    def occurrences(self, block: Block) -> NDArray[np.uint32]:
        """[count, nodes] the nodes of each occurrence, the same column the same role."""
        begins = self.places.of(block.symbol)
        nodes: NDArray[np.uint32] = self.grammar.order[begins[:, None] + np.arange(block.nodes)]
        return nodes

    def data(self) -> dict[str, Any]:
        """For JSON: nodes, units, rules, seconds, blocks, library, models, unreached, left_out."""
        library = self.library(LIBRARY_SIZES[-1])
        return {
            "set": self.graphs.origin,
            "nodes": self.nodes,
            "units": self.units,
            "rules": len(self.blocks),
            "seconds": self.seconds,
            "blocks": [{k: v for k, v in asdict(block).items() if k != "symbol"} for block in self.blocks],
            "library": [
                {"blocks": size, "coverage": library[min(size, len(library)) - 1][1] if library else 0}
                for size in LIBRARY_SIZES
            ],
            "models": [asdict(model) for model in self.models],
            "unreached": [
                {name: getattr(region, name) for name in ("block", "nodes", "count", "graphs", "coverage")}
                for region in self.unreached
            ],
            "left_out": list(self.left_out),
        }

    def columns(self) -> dict[str, list[Any]]:
        """The table of blocks, column by column."""
        shown = [f.name for f in fields(Block) if f.name != "symbol"]
        return {name: [getattr(block, name) for block in self.blocks] for name in shown}

    def report(self, out: str | Path) -> Path:
        """Write the page: one HTML file with everything in it."""
        # Pages lie in the layers above: they are looked up when one is asked for.
        return Path(import_module("grade.report.block_page").write_block_page(self, Path(out)))

    def _repr_html_(self) -> str:
        return str(import_module("grade.report.block_page").blocks_html(self))

    def to_pandas(self) -> Any:
        """The table of blocks as a pandas.DataFrame."""
        try:
            import pandas
        except ImportError:
            raise InputError(
                "Data frames need pandas, which is not installed; run 'pip install pandas'."
            ) from None
        return pandas.DataFrame(self.columns())


def blocks(
    graphs: Any,
    out: str | Path | None = None,
    names: Mapping[str, str] | None = None,
    progress: Progress | None = None,
    **settings: Any,
) -> Blocks:
    """Find repeated regions of any size, and write every graph with them.

    Parameters
    ----------
    graphs
        a GraphSet, a file, folder, glob or name that `grade blocks` takes, a PyTorch module with its example inputs, an
        ONNX model ... or a list of those (`grade.sources.as_graphs`)
    out
        a folder to keep the result in
    names
        other names for blocks, by the names that they get
    progress
        gets the share done; where it returns False the work stops
    settings
        fields of `grade.settings.BlocksSettings`, e.g. ``min_count=5, max_size=100``

    Examples
    --------
    >>> found = blocks("zoo-mini", min_count=5)
    >>> found
    Blocks('zoo-mini': 4,187 nodes in 12 graphs as 306 units, 75 blocks)
    >>> found.blocks[0].count * found.blocks[0].nodes == found.blocks[0].coverage
    True
    """
    known = {f.name for f in fields(BlocksSettings)} - {"graphs", "out"}
    if unknown := sorted(set(settings) - known):
        raise InputError(f"There is no setting {', '.join(unknown)}; known: {', '.join(sorted(known))}.")
    graph_set = as_graphs(graphs)
    begin = time.perf_counter()
    name = str(graphs) if isinstance(graphs, str | Path) else graph_set.origin
    chosen = BlocksSettings(graphs=name, out=None if out is None else Path(out), **settings)
    file, wanted = None, dict(names or {})
    if out is not None:
        from grade.blocks.keeping import NAMES, check_folder, names_in

        check_folder(Path(out))
        file, wanted = Path(out) / NAMES, {**names_in(Path(out)), **wanted}
    graph_set, left_out = acyclic(graph_set)
    check_model(chosen.model, graph_set, left_out)
    try:
        if chosen.blocks is None:
            found = find(graph_set, chosen, wanted, progress, begin)
        else:
            refuse_limits(chosen)
            found = find_known(graph_set, chosen, Path(chosen.blocks), wanted, progress, begin)
    except NamesError as error:
        raise InputError(f"{file}: {error}" if file and file.is_file() else str(error)) from None
    found = replace(found, left_out=left_out)
    if out is not None:
        from grade.blocks.keeping import keep

        keep(found, Path(out))
    return found


def acyclic(graphs: GraphSet) -> tuple[GraphSet, tuple[str, ...]]:
    """The graphs without a directed cycle, and the names of the others; refuses a set that is left with none."""
    levels = _core.block_levels(graphs.out_offsets, graphs.out_targets, graphs.in_offsets)
    cyclic = np.unique(graphs.graphs_of(np.flatnonzero(levels == NOTHING))).tolist()
    if not cyclic:
        return graphs, ()
    if len(cyclic) == len(graphs):
        every = f"all {len(graphs):,} graphs have" if len(graphs) > 1 else "its graph has"
        raise InputError(
            f"{graphs.origin}: {every} a directed cycle, and blocks are regions of acyclic graphs; cut the cycles."
        )
    names = tuple(graphs.graph_names[graph] for graph in cyclic)
    return graphs.subset(np.setdiff1d(np.arange(len(graphs)), cyclic)), names


def check_model(model: str | None, graphs: GraphSet, left_out: Sequence[str]) -> None:
    """Refuse the name of a graph that is not there before work starts."""
    if model is not None and model not in graphs.graph_names:
        why = "has a directed cycle, so it is left out" if model in left_out else "is not in the set"
        raise InputError(
            f"The graph {model!r} {why}; choose one such as {', '.join(graphs.graph_names[:5])}."
        )


def find(
    graphs: GraphSet,
    settings: BlocksSettings,
    names: Mapping[str, str],
    progress: Progress | None,
    begin: float,
    wiring: Wiring | None = None,
) -> Blocks:
    """The flow: merge, keep what pays, list occurrences, name."""
    if wiring is None:
        wiring = Wiring.of(graphs, not settings.ignore_operands, settings.outputs)
    grammar = make_grammar(
        wiring, settings.min_count, settings.min_graphs, settings.max_size, settings.outputs, progress
    )
    kept = rules_worth_keeping(grammar)
    _, counts, in_graphs = supports(grammar, kept)
    # The merging may have counted look-alikes together that it later found to differ: some are now too few.
    kept &= (counts >= settings.min_count) & (in_graphs >= settings.min_graphs)

    def called(ranked: list[int], places: Places) -> list[str]:
        constant = constant_nodes(grammar.wiring)
        types = [computed_types(grammar, places, symbol, constant) for symbol in ranked]
        return renamed(make_names(types), names)

    return described(graphs, grammar, kept, called, settings, begin)


def find_known(
    graphs: GraphSet,
    settings: BlocksSettings,
    folder: Path,
    names: Mapping[str, str],
    progress: Progress | None,
    begin: float,
    wiring: Wiring | None = None,
) -> Blocks:
    """The same with the blocks of a folder. The wiring of an outlined model distinguishes more operators than the
    graphs do; there, types are compared by the operators' names alone.
    """
    library = read_library(folder)
    coarse = Wiring.of(graphs, not settings.ignore_operands)
    plain = str if wiring is None else base_name
    grammar, found = match_library(library, wiring or coarse, coarse, plain, wiring is None, progress)
    kept = np.zeros(grammar.symbols, np.bool_)
    kept[list(found)] = True

    def called(ranked: list[int], places: Places) -> list[str]:
        met: Counter[str] = Counter()
        given = []
        for symbol in ranked:
            met[found[symbol]] += 1
            number = met[found[symbol]]
            given.append(found[symbol] if number == 1 else f"{found[symbol]}-{number}")
        return renamed(given, names)

    return described(graphs, grammar, kept, called, settings, begin)


def described(
    graphs: GraphSet,
    grammar: Grammar,
    kept: NDArray[np.bool_],
    called: Callable[[list[int], Places], list[str]],
    settings: BlocksSettings,
    begin: float,
) -> Blocks:
    """Blocks with their names and supports, the one that saves most first."""
    places, counts, in_graphs = supports(grammar, kept)
    kept &= counts > 0
    saved = counts * (grammar.sizes - 1) - grammar.sizes
    ranked = sorted(np.flatnonzero(kept).tolist(), key=lambda s: (-int(saved[s]), -int(grammar.sizes[s]), s))
    return Blocks(
        graphs,
        grammar,
        kept,
        places,
        [
            Block(
                name,
                int(grammar.sizes[symbol]),
                int(counts[symbol]),
                int(in_graphs[symbol]),
                int(grammar.sizes[symbol] * counts[symbol]),
                symbol,
            )
            for name, symbol in zip(called(ranked, places), ranked, strict=True)
        ],
        settings,
        time.perf_counter() - begin,
    )


def supports(
    grammar: Grammar, kept: NDArray[np.bool_]
) -> tuple[Places, NDArray[np.int64], NDArray[np.int64]]:
    """(occurrences, [symbols] their number, [symbols] number of graphs that they lie in)."""
    places = find_places(grammar, kept)
    counts = np.diff(places.offsets)
    graphs = max(len(grammar.wiring.graph_names), 1)
    pairs = np.repeat(np.arange(grammar.symbols), counts) * graphs + places.graphs
    return places, counts, np.bincount(np.unique(pairs) // graphs, minlength=grammar.symbols)
