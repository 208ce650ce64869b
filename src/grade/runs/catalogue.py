"""The catalogue of a run: an SQLite file of motifs with their supports, where they occur, and how they were found.

    run          name, value              settings, set, what stopped the run early
    levels       size, candidates, ...    one row for each size of the search
    motifs       id, key, size, ...       one row for each pattern found, best first
    motif_graphs motif, graph, ...        the graphs where a motif is most common
    occurrences  motif, graph, nodes      some of its occurrences, as global node ids

Numbers carry their quality: ``exact``, ``estimate`` (with a standard error) or ``lower bound``.
"""

import json
import sqlite3
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from pathlib import Path
from typing import Any

from grade.errors import InputError
from grade.files import whole_file
from grade.graphs.patterns import Pattern, PatternTable
from grade.showing import shown_by


@dataclass(frozen=True)
class Motif:
    """A pattern that was found, with what is known of it."""

    id: int  # 1 is the best
    key: str
    size: int
    text: str
    score: float
    occurrences: float
    occurrences_quality: str
    standard_error: float | None
    graphs: int
    graphs_quality: str
    disjoint: int
    disjoint_quality: str
    coverage: int  # nodes in some occurrence
    coverage_quality: str
    most_common: list[tuple[str, int]] = field(default_factory=list)  # (graph name, occurrences there)
    examples: list[list[int]] = field(default_factory=list)  # global node ids


@dataclass(frozen=True)
class Catalogue:
    """All motifs of a run."""

    run: dict[str, Any]
    levels: list[dict[str, Any]]
    motifs: list[Motif]
    node_vocabulary: tuple[str, ...]
    edge_vocabulary: tuple[str, ...]

    @property
    def patterns(self) -> list[Pattern]:
        """The motifs' patterns, in their order; they may differ in size when a run was stopped early."""
        tables = (
            PatternTable.from_keys([m.key], self.node_vocabulary, self.edge_vocabulary) for m in self.motifs
        )
        return [table[0] for table in tables]

    _repr_html_ = shown_by("grade.report.notebook", "catalogue_html")

    def save(self, path: Path) -> None:
        """Write the file, whole or not at all; the same catalogue gives the same bytes."""
        with whole_file(path) as temporary:
            connection = sqlite3.connect(temporary)
            try:
                self._fill(connection)
            except sqlite3.OperationalError as error:  # a full disk; whole_file makes a sentence of it
                raise OSError(str(error)) from error
            finally:
                connection.close()

    def _fill(self, connection: sqlite3.Connection) -> None:
        columns = [f.name for f in fields(Motif) if f.name not in ("most_common", "examples")]
        connection.executescript(
            "PRAGMA user_version = 1;"
            "CREATE TABLE run (name TEXT PRIMARY KEY, value TEXT);"
            "CREATE TABLE levels (size INTEGER PRIMARY KEY, candidates INTEGER, kept INTEGER, instances INTEGER,"
            " best REAL);"
            f"CREATE TABLE motifs ({', '.join(columns)}, PRIMARY KEY (id));"
            "CREATE TABLE motif_graphs (motif INTEGER, graph TEXT, occurrences INTEGER);"
            "CREATE TABLE occurrences (motif INTEGER, nodes TEXT);"
        )
        whole = {
            **self.run,
            "node_vocabulary": list(self.node_vocabulary),
            "edge_vocabulary": list(self.edge_vocabulary),
        }
        connection.executemany(
            "INSERT INTO run VALUES (?, ?)", [(n, json.dumps(v)) for n, v in whole.items()]
        )
        names = ("size", "candidates", "kept", "instances", "best")
        connection.executemany(
            "INSERT INTO levels VALUES (?, ?, ?, ?, ?)",
            [[row[name] for name in names] for row in self.levels],
        )
        for motif in self.motifs:
            values = asdict(motif)
            marks = ", ".join("?" * len(columns))
            connection.execute(f"INSERT INTO motifs VALUES ({marks})", [values[name] for name in columns])
            connection.executemany(
                "INSERT INTO motif_graphs VALUES (?, ?, ?)", [(motif.id, n, c) for n, c in motif.most_common]
            )
            connection.executemany(
                "INSERT INTO occurrences VALUES (?, ?)",
                [(motif.id, json.dumps(nodes)) for nodes in motif.examples],
            )
        connection.commit()

    @classmethod
    def load(cls, path: Path) -> "Catalogue":
        """Read a file that `save` wrote."""
        if not path.is_file():
            raise InputError(
                f"{path.parent} has no catalogue yet: its run is not finished; start it again to go on."
            )
        connection = sqlite3.connect(f"file:{path.resolve().as_posix()}?mode=ro", uri=True)
        connection.row_factory = sqlite3.Row
        try:
            run = {row["name"]: json.loads(row["value"]) for row in connection.execute("SELECT * FROM run")}
            levels = [dict(row) for row in connection.execute("SELECT * FROM levels ORDER BY size")]
            common: dict[int, list[tuple[str, int]]] = {}
            for row in connection.execute("SELECT * FROM motif_graphs ORDER BY rowid"):
                common.setdefault(row["motif"], []).append((row["graph"], row["occurrences"]))
            examples: dict[int, list[list[int]]] = {}
            for row in connection.execute("SELECT * FROM occurrences ORDER BY rowid"):
                examples.setdefault(row["motif"], []).append(json.loads(row["nodes"]))
            motifs = [
                Motif(
                    **dict(row), most_common=common.get(row["id"], []), examples=examples.get(row["id"], [])
                )
                for row in connection.execute("SELECT * FROM motifs ORDER BY id")
            ]
            vocabularies: Sequence[Any] = [run.pop("node_vocabulary"), run.pop("edge_vocabulary")]
        except (sqlite3.DatabaseError, ValueError, KeyError, TypeError) as error:
            raise InputError(f"{path} is damaged; remove it and start the run again.") from error
        finally:
            connection.close()
        return cls(run, levels, motifs, tuple(vocabularies[0]), tuple(vocabularies[1]))
