"""What a cluster costs beyond the work itself: processor time of the same commands here and on Ray, and bytes sent.

Run: python benchmarks/engines.py --large FOLDER --small FOLDER

The folders are graph sets that experiments/scale/generate.py made: one block of the large one is worked on, and the
small one by a cluster. The cluster is two nodes of one processor each, on this machine, started and stopped
here. Times are processor time, so that other work on the machine counts for little: of the command that waits (the
driver), and of everything that the nodes run.
"""

import argparse
import os
import pickle
import resource
import subprocess
import sys
import tempfile
import time
from contextlib import suppress
from pathlib import Path
from typing import Any

from common import machine, write_results

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.engine.ray_cluster import Cluster, cluster_in

from grade.engine.parts import Crew, Part, bounds_of
from grade.graphs import GraphSet
from grade.graphs.storage import load_graph_set
from grade.sampling.census import count_block
from grade.search import Constraints
from grade.search.candidates import Keeping, parts_of
from grade.search.triples import collect_triples

GRADE = [sys.executable, "-m", "grade.cli"]
TICK = os.sysconf("SC_CLK_TCK")


def block_of(graphs: GraphSet) -> Part:
    """The first block of the set."""
    first, last = bounds_of(graphs)[0]
    return Part(graphs.slice(first, last), int(graphs.node_offsets[first]))


def sent(part: Part) -> list[dict[str, Any]]:
    """Processor seconds and bytes of the result of one block."""
    constraints = Constraints()
    works: dict[str, Any] = {
        "census k=3": lambda: count_block(part, Crew(), 3),
        "census k=4": lambda: count_block(part, Crew(), 4),
        "search, first size, lists of 2,000": lambda: parts_of(
            part, Crew(), collect_triples, (constraints.may_grow, keeping), 3, keeping
        ),
    }
    keeping, rows = Keeping(2000, 0), []
    begin = time.process_time()
    assert part.graphs.core is not None
    rows.append({"work on one block": "opening", "processor s": round(time.process_time() - begin, 2)})
    for name, work in works.items():
        begin = time.process_time()
        result = work()
        seconds = round(time.process_time() - begin, 2)
        rows.append(
            {
                "work on one block": name,
                "processor s": seconds,
                "MB sent": round(len(pickle.dumps(result)) / 1e6, 2),
            }
        )
    return rows


def processor_time(cluster: Cluster) -> float:
    """Seconds that the processes of the nodes have taken, those that have ended included."""
    groups, ticks = {node.pid for node in cluster.nodes}, 0
    for place in Path("/proc").glob("[0-9]*"):
        with suppress(OSError, ValueError):
            fields = (place / "stat").read_text().rpartition(")")[2].split()
            if int(fields[3]) in groups:
                ticks += sum(map(int, fields[11:15]))
    return ticks / TICK


def timed(command: list[str], environment: dict[str, str] | None = None) -> float:
    """Processor seconds of a command."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    subprocess.run(command, env=environment, check=True, stdout=subprocess.DEVNULL)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    return after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime


def on_cluster(folder: Path, place: Path) -> list[dict[str, Any]]:
    rows = []
    words = {
        "census k=3": ["census", str(folder), "-k", "3"],
        "census k=4": ["census", str(folder), "-k", "4"],
        "mine k=5, beam 100": [
            *("mine", str(folder), "-k", "5", "--all", "--rank-by", "occurrences", "--beam", "100"),
            *("--list-size", "200", "--top", "5", "--memory", "2G"),
        ],
    }
    with tempfile.TemporaryDirectory(prefix="g") as short, cluster_in(Path(short)) as cluster:
        where = ["--engine", "ray", "--address", cluster.address]
        for number, (name, command) in enumerate(words.items()):
            out = [
                ["--out", str(place / f"{number}-{kind}")] if command[0] == "mine" else [] for kind in "ab"
            ]
            here = timed([*GRADE, *command, *out[0], "--threads", "1", "--json"])
            before = processor_time(cluster)
            driver = timed([*GRADE, *command, *out[1], *where, "--json"], cluster.environment)
            nodes = processor_time(cluster) - before
            row = {"command": name, "here, 1 thread (s)": round(here, 1), "driver (s)": round(driver, 1)}
            rows.append(row | {"nodes (s)": round(nodes, 1), "times": round((driver + nodes) / here, 2)})
            print(rows[-1], flush=True)
    return rows


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--large", type=Path, required=True, help="folder of a graph set")
    parser.add_argument("--small", type=Path, required=True, help="folder of a graph set")
    given = parser.parse_args()
    where, graphs = machine(), load_graph_set(given.large)
    part = block_of(graphs)
    table: list[dict[str, Any]] = sent(part)
    with tempfile.TemporaryDirectory() as place:
        table += on_cluster(given.small, Path(place))
    notes = [
        f"One block: {part.graphs.nodes:,} of {graphs.nodes:,} nodes, which are {len(bounds_of(graphs)):,} blocks.",
        f"The cluster works on {load_graph_set(given.small).nodes:,} nodes.",
        "Times of nodes contain what Ray itself does on them while a command runs; those of the driver its start.",
    ]
    write_results("engines", "A cluster: what is sent, and what it costs", table, notes, where)


if __name__ == "__main__":
    main()
