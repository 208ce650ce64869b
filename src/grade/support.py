"""The supports of a pattern: several measures of how often it occurs, each with its quality.

The search, the verification, the catalogue and the report all use these names with these meanings.
"""

from dataclasses import asdict, dataclass, field
from typing import Any, Literal

T_95 = 3.182446305  # 97.5 % of Student's t with 3 degrees of freedom: errors come from four replicates

Quality = Literal["exact", "lower bound", "estimate"]

EXACT: Quality = "exact"
LOWER_BOUND: Quality = "lower bound"
ESTIMATE: Quality = "estimate"

SUPPORTS = {
    "occurrences": "node sets that induce the pattern (the paper's frequency)",
    "graphs": "graphs with an occurrence",
    "disjoint": "occurrences that share no node, packed greedily in a fixed order",
    "coverage": "nodes in some occurrence",
    "mni": "minimum image-based support: the fewest nodes that any one node of the pattern is mapped to",
}


@dataclass(frozen=True)
class Support:
    """How often one pattern occurs in a graph set.

    A pattern whose count was cut off has a lower bound. ``disjoint``, ``coverage`` and ``mni`` are None where they
    were not computed. All fields are plain numbers, texts and lists, so that ``dataclasses.asdict`` gives JSON.

    Examples
    --------
    >>> support = Support(occurrences=3, graphs=2, per_graph=[(0, 1), (4, 2)])
    >>> support.occurrences_quality, support.most_common(1)
    ('exact', [(4, 2)])
    >>> support
    Support(3 occurrences, 2 graphs)
    """

    occurrences: float  # whole unless it is an estimate
    occurrences_quality: Quality = EXACT  # and that of `per_graph`
    standard_error: float | None = None  # of an estimate: that of the mean of four replicates
    graphs: int = 0
    graphs_quality: Quality = EXACT
    disjoint: int | None = None
    disjoint_quality: Quality = EXACT  # exact: the greedy packing came to its end
    coverage: int | None = None
    coverage_quality: Quality = EXACT
    mni: int | None = None
    mni_quality: Quality = EXACT
    per_graph: list[tuple[int, int]] = field(
        default_factory=list
    )  # (graph, occurrences), no zeros, ascending
    examples: list[list[int]] = field(
        default_factory=list
    )  # the first occurrences, ascending global node ids
    seconds: float = field(default=0.0, compare=False)

    def __repr__(self) -> str:
        known = [name for name in SUPPORTS if getattr(self, name) is not None]
        return f"Support({', '.join(f'{self.shown(name)} {name}' for name in known)})"

    @property
    def complete(self) -> bool:
        """Whether counting was completed: more time would change nothing."""
        return all(self.quality(name) == EXACT for name in SUPPORTS)

    def value(self, name: str) -> float:
        """A support by its name; 0 where it was not computed."""
        return float(getattr(self, name) or 0)

    def quality(self, name: str) -> Quality:
        """The quality of a support by its name."""
        quality: Quality = getattr(self, f"{name}_quality")
        return quality

    def most_common(self, n: int | None = None) -> list[tuple[int, int]]:
        """The n graphs with the most occurrences (all when left out), as (graph, occurrences)."""
        return sorted(self.per_graph, key=lambda row: (-row[1], row[0]))[:n]

    @property
    def interval(self) -> tuple[float, float] | None:
        """The 95 % interval of an estimate, None where there is no error."""
        if self.standard_error is None:
            return None
        return max(
            self.occurrences - T_95 * self.standard_error, 0.0
        ), self.occurrences + T_95 * self.standard_error

    def numbers(self) -> dict[str, Any]:
        """The supports with their qualities for JSON, without the places of occurrences."""
        left_out = ("per_graph", "examples", "seconds")
        numbers = {name: value for name, value in asdict(self).items() if name not in left_out}
        low, high = self.interval or (None, None)
        return {**numbers, "interval_low": low, "interval_high": high}

    def shown(self, name: str) -> str:
        """A support as text, with the mark of its quality; an estimate with its 95 % interval."""
        if getattr(self, name) is None:
            return "-"
        text = amount(self.value(name), self.quality(name))
        if name == "occurrences" and self.standard_error is not None:
            text += f" ± {T_95 * self.standard_error:.1e}"
        return text


def marked(text: str, quality: Quality) -> str:
    """A number with the mark of its quality: ``>=`` before a lower bound, ``~`` before an estimate.

    Examples
    --------
    >>> marked("1,234", "exact"), marked("1,234", "lower bound"), marked("1.23e+10", "estimate")
    ('1,234', '>= 1,234', '~ 1.23e+10')
    """
    return {EXACT: "", LOWER_BOUND: ">= ", ESTIMATE: "~ "}[quality] + text


def amount(value: float, quality: Quality = EXACT) -> str:
    """A count with thousands separators.

    Examples
    --------
    >>> amount(1234), amount(1.23e10, "estimate")
    ('1,234', '~ 1.23e+10')
    """
    return marked(f"{value:,.0f}" if value < 1e9 else f"{value:.2e}", quality)
