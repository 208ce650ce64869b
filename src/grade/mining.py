"""Mining from Python: models in, motifs out."""

import tempfile
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, fields
from pathlib import Path
from typing import Any

from grade.errors import InputError
from grade.graphs import GraphSet, Pattern
from grade.graphs.concatenation import join
from grade.pipeline import mine as run_pipeline
from grade.report.notebook import catalogue_html
from grade.report.page import write_page
from grade.report.tables import motif_lines
from grade.runs import Catalogue, Motif
from grade.settings import MineSettings
from grade.sources import load

Models = GraphSet | str | Path | Sequence[GraphSet | str | Path]
COLUMNS = ("id", "size", "text", "occurrences", "graphs", "disjoint", "coverage", "score")


@dataclass(frozen=True, eq=False)
class Mined:
    """What was found. In a notebook it shows itself."""

    catalogue: Catalogue
    graphs: GraphSet
    run: Path  # the folder of the run; a temporary one lasts as long as this object
    _folder: Any = field(default=None, repr=False)

    @property
    def motifs(self) -> list[Motif]:
        """The motifs with their supports, best first."""
        return self.catalogue.motifs

    @property
    def patterns(self) -> list[Pattern]:
        """Their patterns, in the same order."""
        return self.catalogue.patterns

    def __len__(self) -> int:
        return len(self.motifs)

    def __iter__(self) -> Iterator[Motif]:
        return iter(self.motifs)

    def show(self, top: int = 20) -> None:
        """Print the motifs as a table."""
        for line in motif_lines(str(self.run), self.catalogue, self.motifs[:top], None):
            print(line)

    def report(self, out: str | Path) -> Path:
        """Write the page: one HTML file with everything in it."""
        write_page(self.run, Path(out), self.graphs)
        return Path(out)

    def export(self, number: int, to: str, out: str | Path) -> Path:
        """Write a motif as code, a model, a picture or a graph: see `grade export --help`."""
        from grade.export.formats import export

        return export(self.run, number, to, Path(out))

    def columns(self) -> dict[str, list[Any]]:
        """The table of motifs, column by column; the qualities of the supports in columns of their own."""
        names = [f.name for f in fields(Motif) if f.name in COLUMNS or f.name.endswith("_quality")]
        table = {name: [getattr(motif, name) for motif in self.motifs] for name in names}
        return {**table, "key": [motif.key for motif in self.motifs]}

    def to_pandas(self) -> Any:
        """The table of motifs as a pandas.DataFrame."""
        try:
            import pandas
        except ImportError:
            raise InputError(
                "Data frames need pandas, which is not installed; run 'pip install pandas'."
            ) from None
        return pandas.DataFrame(self.columns())

    def to_arrow(self) -> Any:
        """The table of motifs as a pyarrow.Table."""
        try:
            import pyarrow
        except ImportError:
            raise InputError(
                "Arrow tables need pyarrow, which is not installed; run 'pip install grade-motifs[parquet]'."
            ) from None
        return pyarrow.table(self.columns())

    def _repr_html_(self) -> str:
        return catalogue_html(self.catalogue)


def mine(models: Models, k: int = 8, out: str | Path | None = None, **settings: Any) -> Mined:
    """Find the most frequent patterns of k nodes: see `grade.mine`."""
    known = {f.name for f in fields(MineSettings)} - {"graphs", "k", "out"}
    unknown = sorted(set(settings) - known)
    if unknown:
        raise InputError(f"There is no setting {', '.join(unknown)}; known: {', '.join(sorted(known))}.")
    for name in ("contains", "only", "never"):
        if isinstance(settings.get(name), str):
            settings[name] = [settings[name]]
    graphs = models_as_graphs(models)
    folder = None if out is not None else tempfile.TemporaryDirectory(prefix="grade-")
    run = Path(out) if out is not None else Path(folder.name) / "run" if folder else Path()
    name = str(models) if isinstance(models, str | Path) else graphs.origin
    catalogue = run_pipeline(MineSettings(graphs=name, k=k, out=run, **settings), graphs)
    return Mined(catalogue, graphs, run, folder)


def models_as_graphs(models: Models) -> GraphSet:
    """One graph set of whatever was given."""
    if isinstance(models, GraphSet):
        return models
    if isinstance(models, str | Path):
        return load(models)
    parts = [part if isinstance(part, GraphSet) else load(part) for part in models]
    if not parts:
        raise InputError("No models were given; name files, folders or built-in sets, or give graph sets.")
    return parts[0] if len(parts) == 1 else join(parts, "models")
