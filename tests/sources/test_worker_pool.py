import pytest

from grade import InputError
from grade.graphs import GraphSet
from grade.settings import ReadSettings
from grade.sources.readers import Item
from grade.sources.worker_pool import Failure, Limits, read_in_workers
from tests.onnx_models import LIGHT

GOOD = [Item("onnx", str(path)) for path in LIGHT]


def bad(name: str) -> Item:
    return Item("torch", f"torch:tests.sources.torch_modules:{name}")


def test_results_come_in_the_order_of_the_inputs() -> None:
    for workers in (1, 3):
        names = []
        for item, message in read_in_workers(GOOD, ReadSettings(), workers, Limits()):
            if isinstance(message, GraphSet):
                assert list(message.graph_names) == [item.place]
                assert message.nodes == next(item.read(ReadSettings())).nodes
            else:
                assert message is None
                names.append(item.place)
        assert names == [item.place for item in GOOD]


def test_an_input_that_hangs_eats_or_crashes_costs_nothing_but_itself() -> None:
    bads = [bad("hungry"), bad("crashing"), Item("onnx", "missing.onnx"), bad("sleeping")]
    items = [GOOD[0], *bads, *GOOD[1:3]]
    ends = {
        item.place: message
        for item, message in read_in_workers(items, ReadSettings(), 1, Limits(seconds=5, memory=4))
        if not isinstance(message, GraphSet)
    }
    assert [ends[item.place] for item in GOOD[:3]] == [None] * 3
    reasons = {
        place.rpartition(":")[2]: end.reason for place, end in ends.items() if isinstance(end, Failure)
    }
    assert set(reasons) == {"sleeping", "hungry", "crashing", "missing.onnx"}
    assert "sleeping was given up: it took longer than 5 seconds (raise `seconds`)." in reasons["sleeping"]
    assert "hungry was given up: it needs more than 4 GiB of memory (raise `memory`)." in reasons["hungry"]
    assert "crashing was given up: its process ended unexpectedly" in reasons["crashing"]
    assert reasons["missing.onnx"].startswith("missing.onnx cannot be read (No such file")


def test_limits_that_make_no_sense_are_refused() -> None:
    for limits in ({"seconds": 0.0}, {"memory": -1.0}, {"seconds": float("nan")}):
        with pytest.raises(InputError, match=r"The limit of (seconds|memory) is .*; give a number"):
            Limits(**limits)
