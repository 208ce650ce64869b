"""GraDE: frequent subgraphs (motifs) in sets of directed, typed graphs."""

TYPE_CHECKING = False  # nothing is imported here: Ctrl-C is taken from the first moments on (`grade.start`)
if TYPE_CHECKING:
    from typing import Any

    from grade.api import census as census
    from grade.api import count as count
    from grade.api import draw as draw
    from grade.api import fit as fit
    from grade.api import load as load
    from grade.api import sample as sample
    from grade.blocks import blocks as blocks
    from grade.errors import InputError as InputError
    from grade.graphs import GraphSet as GraphSet
    from grade.graphs import Pattern as Pattern
    from grade.graphs import PatternTable as PatternTable
    from grade.graphs import SubgraphSample as SubgraphSample
    from grade.match import match as match
    from grade.mine import mine as mine
    from grade.report import report as report
    from grade.sampling.census import Census as Census
    from grade.significance import features as features
    from grade.significance import significance as significance

__version__ = "0.2.0"

# Everything is imported when it is first used, since some of it is slow to import. A module listed here
# without a name in it can be called: `grade.mine` is both the module and its main function.
ON_DEMAND = {
    "Census": "grade.sampling.census:Census",
    "GraphSet": "grade.graphs:GraphSet",
    "InputError": "grade.errors:InputError",
    "Pattern": "grade.graphs:Pattern",
    "PatternTable": "grade.graphs:PatternTable",
    "SubgraphSample": "grade.graphs:SubgraphSample",
    "blocks": "grade.blocks",
    "census": "grade.api:census",
    "count": "grade.api:count",
    "draw": "grade.api:draw",
    "features": "grade.significance:features",
    "fit": "grade.api:fit",
    "load": "grade.api:load",
    "match": "grade.match",
    "mine": "grade.mine",
    "report": "grade.report",
    "sample": "grade.api:sample",
    "significance": "grade.significance",
}
__all__ = ["__version__", *ON_DEMAND]


def __getattr__(name: str) -> "Any":
    from importlib import import_module

    if name not in ON_DEMAND:
        raise AttributeError(f"module 'grade' has no attribute {name!r}")
    module, _, attribute = ON_DEMAND[name].partition(":")
    found = import_module(module)
    return getattr(found, attribute) if attribute else found


def __dir__() -> list[str]:
    return sorted(__all__)
