"""Where work runs: on the threads of this machine, or on the machines of a Ray cluster.

Work on a graph set is a *block function*: it gets a block of graphs (`Part`) and a `Crew`, and returns arrays. The
results of several blocks are joined by a *merge*, which gives the same for any division into blocks and on any
machine: whole numbers are added, lists follow each other in the order of the graphs, and sums of weights are exact
(native/exact_sum.hpp). So every engine finds the same, to the last bit. This machine takes the whole set as one block,
with all threads; a cluster takes many blocks with one thread each.
"""

from grade.engine.base import LOCAL, Engine, LocalEngine, LocalSpread, Matcher, Spread, Work
from grade.engine.choice import ENGINES, engine_named
from grade.engine.parts import Crew, Part

__all__ = [
    "ENGINES",
    "LOCAL",
    "Crew",
    "Engine",
    "LocalEngine",
    "LocalSpread",
    "Matcher",
    "Part",
    "Spread",
    "Work",
    "engine_named",
]
