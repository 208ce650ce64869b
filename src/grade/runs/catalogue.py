"""The catalogue of a run: an SQLite file of motifs with their supports, where they occur, and how they were found.

    run          name, value              settings, set, why the run stopped early
    levels       size, candidates, ...    one row for each size of the search
    motifs       id, key, size, ...       one row for each pattern found, best first; ``code`` is it by numbers
    motif_graphs motif, graph, ...        how often a motif occurs in each graph that has it
    graphs       graph, name              the names of the graphs
    occurrences  motif, graph, nodes      some of its occurrences, as global node ids
    savings      motif, data              the saving by fusing a motif; only in runs with savings

Numbers carry their quality: ``exact``, ``estimate`` (with a standard error) or ``lower bound``.
"""

import json
import sqlite3
from dataclasses import dataclass, fields
from pathlib import Path
from typing import Any

from grade.costs import Saving
from grade.errors import InputError
from grade.files import whole_file
from grade.graphs.patterns import Pattern, PatternTable
from grade.reprs import shown_by
from grade.sealed import CHECKSUM, DamagedError, digest_of_json
from grade.support import Support

FORMAT = 5
SUPPORT_COLUMNS = tuple(f.name for f in fields(Support) if f.name in Support(0).numbers())
CHOICE_COLUMNS = ("new_occurrences", "gain", "covered", "variant_of")
COLUMNS = ("id", "key", "size", "score", *CHOICE_COLUMNS, *Support(0).numbers())


@dataclass(frozen=True)
class Chosen:
    """The gain of a motif over those chosen before it."""

    new_occurrences: int  # sharing no node with each other or with occurrences of motifs chosen before
    gain: float  # their nodes; whole unless each graph counts the same
    covered: float  # nodes of all motifs chosen up to this one


@dataclass(frozen=True)
class Motif:
    """A pattern that a run reports, with its supports."""

    id: int  # 1 is the best
    pattern: Pattern
    support: Support
    score: float  # the search's
    choice: Chosen | None = None  # of a distinct motif
    variant_of: int | None = None  # the distinct motif of which it is a variant
    saving: Saving | None = None  # the saving by fusing its occurrences, where that is wanted

    def __repr__(self) -> str:
        return f"Motif({self.id}, {self.text!r}, {self.support})"

    @property
    def key(self) -> str:
        return self.pattern.key

    @property
    def size(self) -> int:
        return self.pattern.size

    @property
    def text(self) -> str:
        return str(self.pattern)

    def row(self) -> dict[str, Any]:
        """The motif as one row of a table: plain numbers and texts."""
        return {
            "id": self.id,
            "key": self.key,
            "size": self.size,
            "score": self.score,
            "new_occurrences": None if self.choice is None else self.choice.new_occurrences,
            "gain": None if self.choice is None else self.choice.gain,
            "covered": None if self.choice is None else self.choice.covered,
            "variant_of": self.variant_of,
            **self.support.numbers(),
            "saving": None if self.saving is None else self.saving.total,
            "saving_unit": None if self.saving is None else self.saving.unit,
        }


@dataclass(frozen=True)
class Catalogue:
    """All motifs of a run, with its settings and levels."""

    run: dict[str, Any]
    levels: list[dict[str, Any]]
    motifs: list[Motif]
    node_vocabulary: tuple[str, ...]
    edge_vocabulary: tuple[str, ...]
    graph_names: tuple[str, ...] = ()

    def __repr__(self) -> str:
        settings = self.run["settings"]
        return f"Catalogue({settings['graphs']!r}: {len(self.motifs):,} motifs, k={settings['k']})"

    @property
    def patterns(self) -> list[Pattern]:
        """The motifs' patterns, in their order; they may differ in size when a run was stopped early."""
        return [motif.pattern for motif in self.motifs]

    @property
    def shown(self) -> list[Motif]:
        """The distinct motifs; all motifs in a run with ``all``."""
        return [motif for motif in self.motifs if motif.choice is not None] or self.motifs

    def variants(self, motif: Motif) -> list[Motif]:
        """The motifs that are nearly the same as a distinct one."""
        return [other for other in self.motifs if other.variant_of == motif.id]

    def motif(self, number: int, run: Path | str = "the run") -> Motif:
        """A motif by its number, counted from 1."""
        if not 1 <= number <= len(self.motifs):
            raise InputError(f"`pattern` is {number}, but {run} has patterns 1 to {len(self.motifs)}.")
        return self.motifs[number - 1]

    def most_common(self, motif: Motif, n: int) -> list[tuple[str, int]]:
        """The graphs where a motif is most common, as (name, occurrences)."""
        return [(self.graph_names[graph], count) for graph, count in motif.support.most_common(n)]

    def data(self, motif: Motif) -> dict[str, Any]:
        """A motif for JSON."""
        return {
            **motif.row(),
            "most_common": [list(pair) for pair in self.most_common(motif, 10)],
            "saving": None if motif.saving is None else motif.saving.data(),
        }

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
        columns = list(COLUMNS)
        connection.executescript(
            f"PRAGMA user_version = {FORMAT};"
            "CREATE TABLE run (name TEXT PRIMARY KEY, value TEXT);"
            "CREATE TABLE levels (size INTEGER PRIMARY KEY, candidates INTEGER, kept INTEGER, instances INTEGER,"
            " best REAL);"
            f"CREATE TABLE motifs ({', '.join(columns)}, code, PRIMARY KEY (id));"
            "CREATE TABLE motif_graphs (motif INTEGER, graph INTEGER, occurrences INTEGER);"
            "CREATE TABLE graphs (graph INTEGER PRIMARY KEY, name TEXT);"
            "CREATE TABLE occurrences (motif INTEGER, nodes TEXT);"
        )
        whole = {
            **self.run,
            "node_vocabulary": list(self.node_vocabulary),
            "edge_vocabulary": list(self.edge_vocabulary),
            CHECKSUM: self.digest(),
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
            values = motif.row()
            if values["occurrences"] >= 2**63:  # more than SQLite's integers hold
                values["occurrences"] = str(values["occurrences"])
            marks = ", ".join("?" * (len(columns) + 1))
            stored = [*(values[name] for name in columns), motif.pattern.code]
            connection.execute(f"INSERT INTO motifs VALUES ({marks})", stored)
            connection.executemany(
                "INSERT INTO motif_graphs VALUES (?, ?, ?)",
                [(motif.id, g, c) for g, c in motif.support.per_graph],
            )
            connection.executemany(
                "INSERT INTO occurrences VALUES (?, ?)",
                [(motif.id, json.dumps(nodes)) for nodes in motif.support.examples],
            )
        saved = [(m.id, json.dumps(m.saving.data())) for m in self.motifs if m.saving is not None]
        if saved:
            connection.execute("CREATE TABLE savings (motif INTEGER PRIMARY KEY, data TEXT)")
            connection.executemany("INSERT INTO savings VALUES (?, ?)", saved)
        connection.executemany("INSERT INTO graphs VALUES (?, ?)", enumerate(self.graph_names))
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
            per_graph: dict[int, list[tuple[int, int]]] = {}
            for row in connection.execute("SELECT * FROM motif_graphs ORDER BY rowid"):
                per_graph.setdefault(row["motif"], []).append((row["graph"], row["occurrences"]))
            examples: dict[int, list[list[int]]] = {}
            for row in connection.execute("SELECT * FROM occurrences ORDER BY rowid"):
                examples.setdefault(row["motif"], []).append(json.loads(row["nodes"]))
            names = tuple(row["name"] for row in connection.execute("SELECT name FROM graphs ORDER BY graph"))
            vocabularies = tuple(run.pop("node_vocabulary")), tuple(run.pop("edge_vocabulary"))
            stored = run.pop(CHECKSUM)
            tables = [row["name"] for row in connection.execute("SELECT name FROM sqlite_master")]
            asked = connection.execute("SELECT * FROM savings") if "savings" in tables else ()
            savings = {row["motif"]: Saving(**json.loads(row["data"])) for row in asked}
            motifs = [
                Motif(
                    row["id"],
                    PatternTable.from_keys([row["code"]], *vocabularies)[0],
                    Support(
                        **support_columns(row),
                        per_graph=per_graph.get(row["id"], []),
                        examples=examples.get(row["id"], []),
                    ),
                    row["score"],
                    None
                    if row["gain"] is None
                    else Chosen(row["new_occurrences"], row["gain"], row["covered"]),
                    row["variant_of"],
                    savings.get(row["id"]),
                )
                for row in connection.execute("SELECT * FROM motifs ORDER BY id")
            ]
        except (sqlite3.DatabaseError, ValueError, LookupError, TypeError) as error:
            raise DamagedError(path) from error
        finally:
            connection.close()
        catalogue = cls(run, levels, motifs, *vocabularies, names)
        if stored != catalogue.digest():
            raise DamagedError(path)
        return catalogue

    def digest(self) -> str:
        """SHA-256 of the content of the catalogue."""
        motifs = [
            [{name: row[name] for name in COLUMNS}, motif.support.per_graph, motif.support.examples]
            + ([motif.saving.data()] if motif.saving is not None else [])
            for motif in self.motifs
            for row in [motif.row()]
        ]
        words = [self.node_vocabulary, self.edge_vocabulary, self.graph_names]
        return digest_of_json([self.run, self.levels, motifs, words])


def support_columns(row: sqlite3.Row) -> dict[str, Any]:
    """The supports in a row of the table of motifs; a count past SQLite's integers is text."""
    columns = {name: row[name] for name in SUPPORT_COLUMNS}
    count = columns["occurrences"]
    return {**columns, "occurrences": int(count) if isinstance(count, str) else count}
