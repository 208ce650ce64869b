"""ONNX files of any size and from anywhere: read in little memory, or refused with the reason."""

import os
import random
import resource
import subprocess
import sys
from pathlib import Path

import onnx
import pytest
from onnx import helper

from grade import InputError
from grade.settings import ReadSettings
from grade.sources import load
from grade.sources.onnx_files import read_onnx
from tests.onnx_models import LIGHT, branching, calling, model
from tests.sources.mutations import mutated, outcome
from tests.sources.test_onnx_files import FOLDING, node


def varint(value: int) -> bytes:
    return bytes([value & 0x7F | 0x80]) + varint(value >> 7) if value > 0x7F else bytes([value])


def test_ten_gigabytes_of_weights_are_not_read(tmp_path: Path) -> None:
    """A model whose weights are a hole of 10 GiB in a sparse file, read in a process that may use far less."""
    size = 10 << 30
    relu = node("Gemm", ["x", "w"], ["y"]).SerializeToString()
    before = bytes([0x0A]) + varint(len(relu)) + relu
    named = b"\x42\x01w"  # TensorProto.name
    inside = named + b"\x4a" + varint(size)  # TensorProto.raw_data
    tensor = bytes([0x2A]) + varint(len(inside) + size) + inside
    after = b"\x5a\x03\x0a\x01x\x62\x03\x0a\x01y"  # input x, output y
    graph = len(before) + len(tensor) + size + len(after)
    path = tmp_path / "huge.onnx"
    with path.open("wb") as file:
        file.write(b"\x08\x08\x3a" + varint(graph) + before + tensor)
        file.seek(size, os.SEEK_CUR)
        file.write(after)
    program = (  # the peak from /proc: that of getrusage counts the parent's memory before exec, too
        "import re, sys; from pathlib import Path; from grade.sources import load; graphs = load(sys.argv[1])\n"
        "peak = re.search(r'VmHWM:\\s+(\\d+) kB', Path('/proc/self/status').read_text())\n"
        "print(graphs.nodes, graphs.edges, int(peak[1]) // 1024)"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, str(path)], capture_output=True, text=True, check=True
    )
    nodes, edges, megabytes = map(int, done.stdout.split())
    assert (nodes, edges) == (1, 0)
    assert megabytes < 300


def refusal(content: bytes, folder: Path) -> str:
    path = folder / "bad.onnx"
    path.write_bytes(content)
    with pytest.raises(InputError) as error:
        load(path)
    sentence = str(error.value)
    assert str(path) in sentence
    assert "\n" not in sentence
    assert sentence.endswith("export it again.")
    return sentence


@pytest.mark.parametrize(
    ("content", "reason"),
    [
        (b"", "it is empty"),
        (b"<html>", ""),
        (b"PK\x03\x04 zip", ""),
        (b"\x08\x08", "it has no graph"),
        (b"\x3a\x02\x0a\x00", "a node has no operator"),
        (b"\x3a\x05\x0a\x03\x22\x01\xff", "a name is not UTF-8"),
        (b"\x3a\x7f", "it ends too early"),
        (b"\x08" + b"\xff" * 11, "a number does not end"),
        (b"\x0b\x0c", "a field is of an unknown kind"),
        (b"\x3a\x00\x3a\x00", "it has two graphs"),
        (
            b"\x3a" + varint(70_006) + b"\x0a" + varint(70_002)[:3] + b"\x22" + b"\xf0\xa2\x04",
            "it ends too early",
        ),
    ],
)
def test_what_is_no_model_is_refused(tmp_path: Path, content: bytes, reason: str) -> None:
    assert reason in refusal(content, tmp_path)


def test_a_model_cut_off_anywhere_is_refused(tmp_path: Path) -> None:
    whole = branching().SerializeToString()
    graph_end = len(whole) - len(model([]).SerializeToString()) + 20
    for length in range(1, graph_end - 40, 7):
        refusal(whole[:length], tmp_path)


@pytest.mark.parametrize(
    ("made", "reason"),
    [
        (model([node("Relu", ["nowhere"], ["y"])]), "reads 'nowhere', which nothing computes"),
        (model([node("Relu", ["x"], ["y"]), node("Exp", ["x"], ["y"])]), "the value 'y' is computed twice"),
        (model([node("Relu", ["x"], ["z"])]), "the output of the graph reads 'y', which nothing computes"),
        (
            model(
                [node("F", ["x"], ["y"], domain="local")],
                functions=[
                    helper.make_function(
                        "local", "F", ["a"], ["b"], [node("G", ["a"], ["b"], domain="local")], []
                    ),
                    helper.make_function(
                        "local", "G", ["a"], ["b"], [node("F", ["a"], ["b"], domain="local")], []
                    ),
                ],
            ),
            "calls itself",
        ),
        (
            model(
                [node("Same", ["y"], ["y"], domain="local"), node("Relu", ["y"], ["z"])],
                functions=[helper.make_function("local", "Same", ["a"], ["a"], [], [])],
            ),
            "a value is defined by itself",
        ),
    ],
)
def test_models_that_contradict_themselves_are_refused(
    tmp_path: Path, made: onnx.ModelProto, reason: str
) -> None:
    assert reason in refusal(made.SerializeToString(), tmp_path)


def test_functions_that_unfold_without_end_are_refused_before_they_do(tmp_path: Path) -> None:
    calls = [
        [node(f"F{level + 1}", ["a"], [f"b{i}"], domain="local") for i in range(10)] for level in range(20)
    ]
    functions = [
        helper.make_function("local", f"F{level}", ["a"], ["b0"], nodes, [])
        for level, nodes in enumerate(calls)
    ]  # ten to the power of twenty operators
    made = model([node("F0", ["x"], ["y"], domain="local")], functions=functions)
    assert "unfolds to more than 5,000,000 operators" in refusal(made.SerializeToString(), tmp_path)


def test_bodies_nested_without_end_are_refused(tmp_path: Path) -> None:
    content = b""
    for _ in range(2_000):  # NodeProto { op_type: "If", attribute { g: GraphProto { node: ... } } }
        graph = b"\x0a" + varint(len(content)) + content if content else b""
        attribute = b"\x32" + varint(len(graph)) + graph
        content = b"\x22\x02If" + b"\x2a" + varint(len(attribute)) + attribute
    graph = b"\x0a" + varint(len(content)) + content
    assert "nested more than 50 deep" in refusal(b"\x3a" + varint(len(graph)) + graph, tmp_path)


def test_a_folder_or_a_missing_file_is_refused(tmp_path: Path) -> None:
    (tmp_path / "folder.onnx").mkdir()
    for name in ("folder.onnx", "missing.onnx"):
        with pytest.raises(
            InputError, match=rf"{name} cannot be read \(.*\); check its name and permissions"
        ):
            next(read_onnx(str(tmp_path / name)))


def fuzz(folder: Path, rounds: int) -> None:
    """Mutated models are read or refused by name, in little memory."""
    wholes = [path.read_bytes() for path in LIGHT[:1] + LIGHT[-1:]]
    wholes += [
        made.SerializeToString() for made in (branching(), calling(), model(FOLDING, initializers="w"))
    ]
    rng = random.Random(6)
    outcomes = {"read": 0, "refused": 0}
    before = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss
    for _ in range(rounds):
        path = folder / "mutated.onnx"
        path.write_bytes(mutated(rng.choice(wholes), rng))
        choices = (
            ReadSettings(fold=True, attributes=["kernel_shape"]) if rng.random() < 0.5 else ReadSettings()
        )
        outcomes[outcome(path, choices)] += 1
    assert min(outcomes.values()) > rounds // 20  # mutations of both kinds were met
    assert resource.getrusage(resource.RUSAGE_SELF).ru_maxrss - before < 100 * 1024


def test_mutated_models(tmp_path: Path) -> None:
    fuzz(tmp_path, 300)


@pytest.mark.slow
def test_many_mutated_models(tmp_path: Path) -> None:
    fuzz(tmp_path, 10_000)
