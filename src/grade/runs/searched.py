"""The graph set of a run, if it still exists unchanged."""

from grade.errors import InputError
from grade.graphs import GraphSet
from grade.runs.catalogue import Catalogue
from grade.sources.loading import load_stored


def searched_set(catalogue: Catalogue) -> GraphSet:
    """Load the set by the name that the run knows; a set that has changed is refused."""
    name = catalogue.run["settings"]["graphs"]
    try:
        graphs = load_stored(name)
    except InputError as error:
        raise InputError(f"The graph set {name} that the run searched cannot be read here: {error}") from None
    refuse_other(catalogue, graphs)
    return graphs


def refuse_other(catalogue: Catalogue, graphs: GraphSet) -> None:
    """Refuse a set that is not the one that the run searched."""
    if graphs.digest != catalogue.run["set"]["digest"]:
        name = catalogue.run["settings"]["graphs"]
        raise InputError(f"The graph set {name} has changed since the run searched it; mine it again.")
