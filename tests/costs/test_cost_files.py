"""Files of costs: read, used, and refused in one sentence."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from grade.costs import Savings, read_costs
from grade.errors import InputError
from grade.graphs.queries import Query
from grade.runs import Catalogue
from grade.sources import load

CSV = """pattern,apart_seconds,fused_seconds
bandwidth,1e9,
Conv,0.002,
BatchNormalization,0.001,
BatchNormalization -> Relu,0.0015,0.0011
Conv -> BatchNormalization,,0.0022
"""


def test_csv_and_json_say_the_same(tmp_path: Path) -> None:
    (tmp_path / "a.csv").write_text(CSV)
    rows = [
        {"pattern": "Conv", "apart": 0.002},
        {"pattern": "BatchNormalization", "apart": 0.001},
        {"pattern": "BatchNormalization -> Relu", "apart": 0.0015, "fused": 0.0011},
        {"pattern": "Conv -> BatchNormalization", "fused": 0.0022},
    ]
    (tmp_path / "a.json").write_text(json.dumps({"unit": "seconds", "bandwidth": 1e9, "costs": rows}))
    costs = read_costs(tmp_path / "a.csv")
    assert costs == read_costs(tmp_path / "a.json")
    graphs = load("zoo-mini")

    def saving(text: str) -> tuple[float, bool]:
        pattern = Query(text).pattern(graphs.node_vocabulary, graphs.edge_vocabulary)
        assert pattern is not None
        found = Savings(graphs, costs=costs).of_pattern(pattern)
        assert found.total == pytest.approx(found.per_occurrence * found.occurrences)
        return found.per_occurrence, found.measured

    assert saving("BatchNormalization -> Relu") == (pytest.approx(0.0004), True)
    assert saving("Conv -> BatchNormalization") == (pytest.approx(0.0008), True)
    amount, measured = saving("Conv -> BatchNormalization -> Relu")
    assert not measured
    assert amount == pytest.approx(4 * 2**20 / 1e9)  # the bytes, at the bandwidth


WRONG = {
    "no.json": ("{", "no JSON"),
    "list.json": ("[]", "holds no costs"),
    "unit.json": ('{"unit": "days", "costs": []}', "unit"),
    "empty.json": ('{"unit": "bytes", "costs": []}', "holds no costs"),
    "more.json": ('{"unit": "bytes", "costs": [], "colour": 1}', "colour"),
    "slow.json": ('{"unit": "seconds", "costs": [{"pattern": "Conv", "apart": 1}]}', "bandwidth"),
    "nan.json": ('{"unit": "bytes", "costs": [{"pattern": "Conv", "apart": NaN}]}', "nan"),
    "true.json": ('{"unit": "bytes", "costs": [{"pattern": "Conv", "apart": true}]}', "True"),
    "minus.csv": ("pattern,apart_bytes,fused_bytes\nConv,-1,\n", "-1"),
    "text.csv": ("pattern,apart_bytes,fused_bytes\nConv,much,\n", "much"),
    "head.csv": ("a,b\nConv,1\n", "columns a, b"),
    "short.csv": ("pattern,apart_bytes,fused_bytes\nConv,1\n", "line 2"),
    "nothing.csv": ("", "nothing"),
    "none.csv": ("pattern,apart_bytes,fused_bytes\nConv,,\n", "no cost"),
    "twice.csv": ("pattern,apart_bytes,fused_bytes\nConv,1,\nConv,2,\n", "twice"),
    "wild.csv": ("pattern,apart_bytes,fused_bytes\nConv*,1,\n", "wildcards"),
    "bad.csv": ("pattern,apart_bytes,fused_bytes\nConv ->,1,\n", "cannot be read"),
    "fused.csv": ("pattern,apart_bytes,fused_bytes\nConv,,1\n", "'Conv' has no cost apart; add it"),
    "half.csv": (
        "pattern,apart_bytes,fused_bytes\nRelu,1,\nConv,2,1\nConv -> Add,,1\nAdd,,3\n",
        "operator Add",
    ),
    "wide.csv": ("pattern,apart_bytes,fused_bytes\n" + "C" * 200_000 + ",1,\n", "no CSV"),
    "apart.csv": ("pattern,apart_bytes,fused_bytes\nConv -> Relu,,1\n", "operator Conv"),
}


@pytest.mark.parametrize("name", WRONG)
def test_what_is_wrong_is_told(tmp_path: Path, name: str) -> None:
    text, reason = WRONG[name]
    (tmp_path / name).write_text(text)
    with pytest.raises(InputError) as error:
        read_costs(tmp_path / name)
    assert reason in str(error.value)
    assert name in str(error.value)


def mine(folder: Path, *arguments: str, code: int = 0) -> str:
    command = [sys.executable, "-m", "grade.cli", "mine", "zoo-mini", *arguments]
    done = subprocess.run(command, capture_output=True, text=True, cwd=folder, check=False)
    assert done.returncode == code, done.stderr
    assert "Traceback" not in done.stderr
    return done.stdout + done.stderr


def test_mining_by_saving_end_to_end(tmp_path: Path) -> None:
    shown = mine(tmp_path, "-k", "3", "--rank-by", "saving", "--all", "--top", "5", "--out", "run")
    assert "saving" in shown
    assert "~ 804.0 MiB" in shown
    assert "none measured" in shown
    motifs = Catalogue.load(tmp_path / "run" / "catalogue.sqlite").motifs
    totals = [motif.saving.total for motif in motifs if motif.saving is not None]
    assert len(totals) == 5
    assert totals == sorted(totals, reverse=True)
    (tmp_path / "costs.csv").write_text(
        "pattern,apart_bytes,fused_bytes\nBatchNormalization -> Relu -> Conv,3e9,1e9\n"
    )
    arguments = ("-k", "3", "--rank-by", "saving", "--all", "--top", "3", "--out", "run2", "--costs")
    found = json.loads(mine(tmp_path, *arguments, "costs.csv", "--json"))
    first = found["motifs"][0]
    assert first["key"] == "BatchNormalization -> Relu -> Conv"
    assert first["saving"]["basis"] == "measured"
    assert first["saving"]["total"] == 2e9 * first["disjoint"]
    assert found["motifs"][1]["saving"]["basis"].startswith("default sizes")
    assert "other settings (costs)" in mine(tmp_path, *arguments[:-1], code=2)
    assert "cannot be read" in mine(tmp_path, *arguments, "none.csv", code=2)


def test_complete_mode_ranks_by_saving(tmp_path: Path) -> None:
    arguments = ("-k", "3", "--complete", "--min-graphs", "3", "--rank-by", "saving", "--out", "run")
    found = json.loads(mine(tmp_path, *arguments, "--json"))
    totals = [motif["saving"]["total"] for motif in found["motifs"] if motif["saving"]]
    assert totals == sorted(totals, reverse=True)
    assert len(totals) > 3
