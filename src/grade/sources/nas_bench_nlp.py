"""NAS-Bench-NLP: the recurrent cells of the benchmark's logs.

Klyuchnikov et al., "NAS-Bench-NLP: Neural Architecture Search Benchmark for Natural Language Processing",
2022. Each model has a recipe that names the nodes of its cell, the operation of each and its inputs:
``{"f": {"op": "linear", "input": ["x", "h_prev_0"]}, "h_new_0": {"op": "activation_tanh", "input": ["f"]}}``.

The recipes are not part of GraDE. Give the path of the released archive (a zip with one JSON log per model,
which holds the recipe as a string) or of one JSON file, plain or gzipped, with ``{"recepie": {id: recipe
string}}`` (the benchmark's spelling).
"""

import gzip
import json
import re
import zipfile
import zlib
from collections import deque
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from grade.errors import InputError
from grade.graphs import GraphSet
from grade.sources.archives import archived
from grade.sources.source_registry import source

INPUTS = ("x", "h_prev_0", "h_prev_1", "h_prev_2")
TYPES = (
    "output",
    "input",
    "activation_sigm",
    "activation_tanh",
    "activation_leaky_relu",
    "elementwise_sum",
    "elementwise_prod",
    "linear",
    "blend",
)
MAX_NODES = 13
MAX_BYTES = 1 << 30  # of one unpacked file: a log has some kilobytes, all recipes together some megabytes

Recipe = dict[str, dict[str, Any]]


@source(
    "nas-bench-nlp",
    "Cells of NAS-Bench-NLP, from its logs or recipes.",
    argument="PATH",
    needs_argument=True,
)
def nas_bench_nlp(path: str | Path) -> GraphSet:
    """The distinct cells of at most 13 nodes: 7,258 for the benchmark's single-run logs.

    Nodes 0 to 3 are the inputs x and h_prev_0 to h_prev_2 (kept even if unused), then come the recipe's
    nodes, each after its inputs, then the output, which reads every node whose name contains h_new. Two
    recipes with the same types and arcs in this order are one cell, named after the model with the smaller
    number.
    """
    place = Path(path)
    cells: dict[tuple[tuple[int, ...], tuple[tuple[int, int], ...]], tuple[str, list[str]]] = {}
    for model, text in sorted(read_recipes(place), key=lambda pair: (len(pair[0]), pair[0])):
        recipe = parse_recipe(text, model, place)
        if len(INPUTS) + len(recipe) + 1 > MAX_NODES:
            continue
        names = [*INPUTS, *parents_first(recipe, model, place)]
        number = {name: i for i, name in enumerate(names)}
        arcs = {(number[read], number[name]) for name in recipe for read in recipe[name]["input"]}
        arcs |= {(number[name], len(names)) for name in recipe if "h_new" in name}
        types = [TYPES.index("input")] * len(INPUTS)
        types += [TYPES.index(recipe[name]["op"]) for name in names[len(INPUTS) :]]
        types.append(TYPES.index("output"))
        cells.setdefault((tuple(types), tuple(sorted(arcs))), (model, [*names, "output"]))
    return GraphSet.from_edges(
        node_counts=[len(types) for types, _ in cells],
        node_types=[t for types, _ in cells for t in types],
        edge_counts=[len(arcs) for _, arcs in cells],
        edges=[arc for _, arcs in cells for arc in arcs],
        node_vocabulary=TYPES,
        graph_names=[model for model, _ in cells.values()],
        node_names=[name for _, names in cells.values() for name in names],
        origin=f"nas-bench-nlp:{place}",
    )


def read_recipes(path: Path) -> Iterator[tuple[str, str]]:
    """(model, recipe string) of every model in the released archive or in a JSON file, plain or gzipped."""
    try:
        if zipfile.is_zipfile(path):
            yield from archived(path, read_archive(path))
            return
        with path.open("rb") as file:
            zipped = file.read(2) == b"\x1f\x8b"
        with gzip.open(path) if zipped else path.open("rb") as file:
            content = parse_json(file.read(MAX_BYTES + 1), path, path.name)
    except FileNotFoundError:
        raise InputError(f"There is no file {path}; give the NAS-Bench-NLP archive or its recipes.") from None
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} cannot be read ({error}); get the NAS-Bench-NLP archive again.") from error
    recipes = content.get("recepie") if isinstance(content, dict) else None
    if not isinstance(recipes, dict) or not all(isinstance(text, str) for text in recipes.values()):
        raise InputError(
            f'{path} is not a file of NAS-Bench-NLP recipes: it lacks {{"recepie": {{id: recipe}}}}.'
        )
    yield from recipes.items()


def read_archive(path: Path) -> Iterator[tuple[str, str]]:
    """(model, recipe string) of every log; the model's number is the last one in the log's name."""
    found = False
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            if not entry.filename.endswith(".json") or Path(entry.filename).name.startswith("."):
                continue
            with archive.open(entry) as file:
                log = parse_json(file.read(MAX_BYTES + 1), path, entry.filename)
            if not isinstance(log, dict) or not isinstance(log.get("recepie"), str):
                raise InputError(
                    f"{path} is not the NAS-Bench-NLP archive: {entry.filename} holds no recipe."
                )
            numbers = re.findall(r"\d+", Path(entry.filename).stem)
            found = True
            yield (numbers[-1] if numbers else Path(entry.filename).stem), log["recepie"]
    if not found:
        raise InputError(f"{path} is not the NAS-Bench-NLP archive: it holds no JSON logs.")


def parse_json(content: bytes, path: Path, name: str) -> Any:
    if len(content) > MAX_BYTES:
        raise InputError(f"{path} is refused: {name} unpacks to more than {MAX_BYTES >> 20} MiB.")
    try:
        return json.loads(content)
    except (ValueError, RecursionError):
        raise InputError(f"{path} is not a file of NAS-Bench-NLP: {name} is not JSON.") from None


def parse_recipe(text: str, model: str, path: Path) -> Recipe:
    """The recipe as a mapping, checked: known operations and lists of names."""
    recipe = parse_json(text.encode(), path, f"the recipe of model {model}")
    if not isinstance(recipe, dict):
        raise InputError(f"{path}: the recipe of model {model} is not a mapping of nodes.")
    for name, node in recipe.items():
        if not isinstance(node, dict) or node.get("op") not in TYPES[2:]:
            raise InputError(f"{path}: node {name!r} of model {model} has no known operation.")
        if not isinstance(node.get("input"), list) or not all(
            isinstance(read, str) for read in node["input"]
        ):
            raise InputError(f"{path}: node {name!r} of model {model} has no list of inputs.")
        if name in INPUTS:
            raise InputError(f"{path}: model {model} has a node with the name of the input {name!r}.")
    return recipe


def parents_first(recipe: Recipe, model: str, path: Path) -> list[str]:
    """The recipe's nodes, each after all that it reads; one that is listed too early moves to the end.

    >>> parents_first({"b": {"input": ["a"]}, "a": {"input": ["x"]}}, "1", Path())
    ['a', 'b']
    """
    waiting = deque(recipe)
    placed: dict[str, None] = dict.fromkeys(INPUTS)
    turned_away = 0
    while waiting:
        name = waiting.popleft()
        if all(read in placed for read in recipe[name]["input"]):
            placed[name] = None
            turned_away = 0
            continue
        waiting.append(name)
        turned_away += 1
        if turned_away == len(waiting):
            raise InputError(
                f"{path}: node {name!r} of model {model} reads a node that is missing or comes after it."
            )
    return list(placed)[len(INPUTS) :]
