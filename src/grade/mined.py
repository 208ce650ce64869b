"""The result of `grade.mine`: a finished run."""

from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from grade import frames
from grade.graphs import GraphSet, Pattern
from grade.runs import Catalogue, Motif

if TYPE_CHECKING:
    from grade.export.occurrences import Occurrences


@dataclass(frozen=True, eq=False)
class Mined:
    """A finished run with its catalogue. A notebook displays its motifs."""

    catalogue: Catalogue
    graphs: GraphSet
    run: Path  # the folder of the run; a temporary one lasts as long as this object
    _folder: Any = field(default=None, repr=False)

    @property
    def motifs(self) -> list[Motif]:
        """The motifs with their supports, best first."""
        return self.catalogue.motifs

    @property
    def shown(self) -> list[Motif]:
        """The distinct motifs, in the order in which they were chosen; all motifs where all are wanted."""
        return self.catalogue.shown

    @property
    def patterns(self) -> list[Pattern]:
        """Their patterns, in the same order."""
        return self.catalogue.patterns

    @property
    def _name(self) -> str | None:
        """The run in headings: its folder, unless that is a temporary one."""
        return str(self.run) if self._folder is None else None

    def __len__(self) -> int:
        return len(self.motifs)

    def __iter__(self) -> Iterator[Motif]:
        return iter(self.motifs)

    def show(self, top: int = 20) -> None:
        """Print the motifs as a table."""
        from grade.report.tables import motif_lines

        for line in motif_lines(self._name, self.catalogue, self.shown[:top], None):
            print(line)

    def report(self, out: str | Path) -> Path:
        """Write the page: one HTML file with everything in it."""
        from grade.report.page import write_page

        write_page(self.run, Path(out), self.graphs)
        return Path(out)

    def export(self, number: int, to: str, out: str | Path) -> Path:
        """Write a motif as code, a model, a picture or a graph: see `grade export --help`."""
        from grade.export.formats import export

        return export(self.run, number, to, Path(out), graphs=self.graphs).file

    def occurrences(self, number: int | str, limit: int = 1000) -> "Occurrences":
        """The occurrences of a motif: graphs, names of nodes, tensors; `write` and `cut` export them."""
        from grade.export.occurrences import occurrences_of

        return occurrences_of(self.run, number, limit, self.graphs)

    def columns(self) -> dict[str, list[Any]]:
        """The table of motifs, column by column; the qualities of the supports in columns of their own."""
        rows = [motif.row() for motif in self.motifs]
        return {name: [row[name] for row in rows] for name in (rows[0] if rows else {})}

    def to_pandas(self) -> Any:
        """The table of motifs as a pandas.DataFrame."""
        return frames.to_pandas(self.columns())

    def to_arrow(self) -> Any:
        """The table of motifs as a pyarrow.Table."""
        return frames.to_arrow(self.columns())

    def __repr__(self) -> str:
        from grade.report.tables import motif_lines

        return "\n".join(motif_lines(self._name, self.catalogue, self.shown[:5], None))

    def _repr_html_(self) -> str:
        return str(self.catalogue._repr_html_())
