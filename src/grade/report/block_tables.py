"""Blocks and outlines of models as lines of text."""

from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from grade.blocks import Blocks, Unit
from grade.blocks.finding import LIBRARY_SIZES
from grade.blocks.outline import Outlined

SMALL_SET, WIDTH, PARTS = 3, 110, 6
NAMED = 5  # graphs that a line names


def block_lines(found: Blocks, top: int, model: str | None) -> Iterator[str]:
    """The result for a terminal: totals, blocks, the coverage of libraries, outlines. Names come from files of any
    origin; control characters are escaped.
    """
    for line in all_lines(found, top, model):
        yield "".join(character if character.isprintable() else "?" for character in line)


def all_lines(found: Blocks, top: int, model: str | None) -> Iterator[str]:
    graphs = len(found.graphs)
    ratio = f" ({found.nodes / found.units:.1f} times fewer)" if found.units else ""
    yield (
        f"{found.graphs.origin}: {number(found.nodes, 'node')} in {number(graphs, 'graph')}"
        f" {'is' if found.nodes == 1 else 'are'}"
        f" {number(found.units, 'unit')}{ratio}, {number(len(found.blocks), 'block')},"
        f" {found.seconds:.2f} s"
    )
    if not found.blocks:
        yield why_none(found)
    if found.left_out:
        count = len(found.left_out)
        which = "graph has a directed cycle and was" if count == 1 else "graphs have directed cycles and were"
        more = ", ..." if count > NAMED else ""
        yield f"{count:,} {which} left out: {', '.join(found.left_out[:NAMED])}{more}"
    if top and found.blocks:
        yield ""
        yield f"{'nodes':>7} {'count':>8} {'graphs':>7} {'coverage':>9}  block"
        for block in found.blocks[:top]:
            share = 100 * block.coverage / max(found.nodes, 1)
            parts = list(folded(found, found.inside(block.symbol)))
            more = f"; and {len(parts) - PARTS} more" if len(parts) > PARTS else ""
            yield (
                f"{block.nodes:>7,} {block.count:>8,} {block.graphs:>7,} {share:>7.1f} %"
                f"  {block.name} = {'; '.join(parts[:PARTS])}{more}"
            )
        if len(found.blocks) > top:
            yield f"{len(found.blocks) - top:,} more blocks; raise `top` to see them."
    yield from unreached_lines(found, min(top, NAMED))
    library = found.library(LIBRARY_SIZES[-1])
    if library:
        sizes = [size for size in LIBRARY_SIZES if size <= len(library)] or [len(library)]
        shares = (
            f"{number(size, 'block')} {100 * library[size - 1][1] / found.nodes:.1f} %" for size in sizes
        )
        yield ""
        yield f"A library covers: {', '.join(shares)} of all nodes."
    yield from outlines(found, model)


def number(count: int, word: str) -> str:
    """A count with its noun.

    >>> number(1, "graph"), number(2000, "graph")
    ('1 graph', '2,000 graphs')
    """
    return f"{count:,} {word}{'' if count == 1 else 's'}"


def why_none(found: Blocks) -> str:
    """Why there are no blocks."""
    if not found.nodes:
        return "There are no nodes, so nothing repeats."
    settings = found.settings
    if settings.blocks is not None:
        return f"None of the blocks of {settings.blocks} occurs here."
    limits = [f"at least {settings.min_count:,} times"]
    limits += [f"in at least {settings.min_graphs:,} graphs"] if settings.min_graphs > 1 else []
    limits += [f"with at most {number(settings.max_size, 'node')}"] if settings.max_size is not None else []
    return f"No region of two or more nodes occurs {' and '.join(limits)} so that a rule pays."


def unreached_lines(found: Blocks, top: int) -> Iterator[str]:
    """Larger regions that no merge reached."""
    regions = found.unreached
    if not regions or not top:
        return
    one = len(regions) == 1
    yield ""
    yield (
        f"{len(regions):,} larger region{' repeats' if one else 's repeat'} as often as a block inside; more frequent"
        f" pairs took {'its' if one else 'their'} nodes:"
    )
    for region in regions[:top]:
        share = 100 * region.coverage / max(found.nodes, 1)
        yield (
            f"{region.nodes:>7,} {region.count:>8,} {region.graphs:>7,} {share:>7.1f} %"
            f"  around {region.block} ({found[region.block].nodes:,} nodes)"
        )
    if len(regions) > top:
        yield f"{len(regions) - top:,} more of them are in the JSON output."


def outline_lines(done: Outlined, out: Path) -> Iterator[str]:
    """The outline of a model: numbers of functions and calls."""
    data = done.data()
    left = data.get("placeholders")
    if left is not None:
        yield f"{out}: {number(data['nodes'], 'operator')} as PyTorch source, {data['seconds']:.2f} s"
    else:
        yield (
            f"{out}: {number(data['nodes'], 'operator')} {'is' if data['nodes'] == 1 else 'are'}"
            f" {number(data['graph_nodes'], 'node')}, {data['calls']:,} of them calls of functions;"
            f" {number(len(data['functions']), 'function')}, {data['seconds']:.2f} s"
        )
    if left:
        kinds = ", ".join(f"{count:,} {kind}" for kind, count in sorted(Counter(left).items()))
        yield f"Operators without a counterpart, marked PLACEHOLDER: {kinds}"
    if not data["functions"]:
        yield why_none(done.found)
    if data["bodies"] and left is None:
        those = (
            "operator with a body stays as it is"
            if data["bodies"] == 1
            else "operators with bodies stay as they are"
        )
        yield f"{data['bodies']:,} {those} (If, Loop, Scan); their insides are not outlined."
    rows = sorted(data["functions"], key=lambda row: -row["nodes"])
    if rows:
        yield f"{'nodes':>7} {'count':>8} {'inputs':>7}  function"
    for row in rows:
        yield f"{row['nodes']:>7,} {row['count']:>8,} {row['inputs']:>7,}  {row['name']}"


def outlines(found: Blocks, model: str | None) -> Iterator[str]:
    """The outline of one graph, or of all in a small set."""
    names = list(found.graphs.graph_names)
    shown = (
        [names.index(model)] if model is not None else range(len(names)) if len(names) <= SMALL_SET else []
    )
    for graph in shown:
        units = found.outline(graph)
        yield ""
        size = number(int(found.graphs.node_counts[graph]), "node")
        yield f"{names[graph]}: {size}, {number(len(units), 'unit')}"
        yield from filled(folded(found, units), "  ")


def folded(found: Blocks, units: Sequence[Unit]) -> Iterator[str]:
    """Units as text."""
    return (text for text, _ in folded_units(found, units))


def folded_units(found: Blocks, units: Sequence[Unit]) -> Iterator[tuple[str, Unit]]:
    """Units as text, each with the first of them. Equal ones that follow each other are one entry, also where they are
    no repetition: none reads the one before, or others read each of them, too.
    """
    producers = found.producers([(unit.symbol, unit.begin) for unit in units])
    begin = 0
    while begin < len(units):
        text, end = found.text(units[begin]), begin + 1
        chained = end < len(units) and begin in producers[end]
        while (
            end < len(units)
            and units[end].symbol == units[begin].symbol
            and follows(producers, end, begin, chained)
        ):
            end += 1
        yield together(text, end - begin, chained), units[begin]
        begin = end


def follows(producers: Sequence[Sequence[int]], unit: int, begin: int, chained: bool) -> bool:
    """Whether a unit reads the one before, or none from the first one on."""
    return unit - 1 in producers[unit] if chained else not any(each >= begin for each in producers[unit])


def together(text: str, count: int, chained: bool) -> str:
    """An entry of an outline.

    >>> together("2 x Cast", 1, False), together("Cast", 3, True), together("2 x Cast", 3, False)
    ('2 x Cast', '3 Cast in a row', '3 (2 x Cast) side by side')
    """
    if count == 1:
        return text
    return f"{count} {f'({text})' if ' ' in text else text} {'in a row' if chained else 'side by side'}"


def filled(parts: Iterator[str], indent: str) -> Iterator[str]:
    """The parts, separated by semicolons, in lines of a terminal's width."""
    line = ""
    for part in parts:
        if line and len(line) + len(part) + 2 > WIDTH - len(indent):
            yield f"{indent}{line};"
            line = part
        else:
            line = f"{line}; {part}" if line else part
    if line:
        yield indent + line
