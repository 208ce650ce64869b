import tempfile
import zipfile
from contextlib import suppress
from pathlib import Path

import networkx
import pytest
from hypothesis import given
from hypothesis import strategies as st

from grade import GraphSet, InputError
from grade.settings import ReadSettings
from grade.sources import load, to_networkx
from grade.sources.verilog import read_verilog

HALF = "module half(a, b, s, c); input a, b; output s, c; xor x (s, a, b); and y (c, a, b); endmodule\n"
FULL = """
// a full adder of two half adders
module full(p, q, r, sum, carry);
  input p, q, r; output sum, carry;
  wire s1, c1, c2; /* by name,
  and by place */
  half one (.a(p), .b(q), .s(s1), .c(c1));
  half two (s1, r, sum, c2);
  or last (carry, c1, c2);
endmodule
"""


def read(text: str, folder: Path, name: str = "circuit.v", **choices: object) -> GraphSet:
    (folder / name).write_text(text)
    return load(folder / name, ReadSettings(**choices))  # type: ignore[arg-type]  # choices of several types


def wired(graphs: GraphSet) -> set[tuple[str, str, str]]:
    graph = to_networkx(graphs, 0)
    name = graph.nodes(data="name")
    return {(name[a], name[b], word) for a, b, word in graph.edges(data="operands")}


def outputs(graphs: GraphSet) -> set[str]:
    assert graphs.node_names is not None
    return {name for name, end in zip(graphs.node_names, graphs.outputs, strict=True) if end}


def test_gates_become_nodes_and_modules_are_put_in_place(tmp_path: Path) -> None:
    graphs = read(HALF + FULL, tmp_path)
    assert list(graphs.graph_names) == [str(tmp_path / "circuit.v")]  # half is a part of full
    assert wired(graphs) == {
        ("one/x", "two/x", "0"),
        ("one/x", "two/y", "0"),
        ("one/y", "last", "0"),
        ("two/y", "last", "1"),
    }
    assert [graphs.node_vocabulary[kind] for kind in graphs.node_types] == ["xor", "and", "xor", "and", "or"]
    assert outputs(graphs) == {"two/x", "last"}
    assert graphs.node_places is not None
    assert graphs.node_places.tolist() == [0, 0, 1, 1, 2]


def test_assignments_become_gates_or_other_names(tmp_path: Path) -> None:
    graphs = read(
        "module m(a, b, c, s, y, z, w); input a, b, c, s; output y, z, w; wire t, u;\n"
        "  assign t = ~a & b & c, u = t;\n  assign #1 y = (u | ~b) ^ c;\n  assign z = s ? t : b; assign w = t;\n"
        "  not (n, t);\nendmodule",
        tmp_path,
    )
    kinds = [graphs.node_vocabulary[kind] for kind in graphs.node_types]
    assert sorted(kinds) == ["and", "mux", "not", "not", "not", "or", "xor"]
    graph = to_networkx(graphs, 0)
    arcs = {(kinds[a], kinds[b], word) for a, b, word in graph.edges(data="operands")}
    assert arcs == {
        ("not", "and", "0"),
        ("and", "or", "0"),
        ("not", "or", "1"),
        ("or", "xor", "0"),
        ("and", "mux", "1"),
        ("and", "not", "0"),
    }
    ends = sorted(kinds[node] for node in range(graphs.nodes) if graphs.outputs[node])
    assert ends == ["and", "mux", "xor"]


def test_vectors_are_written_out_bit_by_bit(tmp_path: Path) -> None:
    graphs = read(
        "module inv(input [1:0] i, output [1:0] o); not n1 (o[1], i[1]); not n0 (o[0], i[0]); endmodule\n"
        "module top(input [3:0] a, input k, output [1:0] y, output \\z[9] );\n"
        "  wire [1:0] m; and g1 (m[1], a[3], a[2]), g0 (m[0], a[1], a[0]);\n"
        "  inv one (.i(m), .o(y)); inv two (.i({m[0], k}), .o({p, q}));\n"
        "  xor last (\\z[9] , p, q, 1'b1); endmodule",
        tmp_path,
    )
    assert wired(graphs) == {
        ("g1", "one/n1", "0"),
        ("g0", "one/n0", "0"),
        ("g0", "two/n1", "0"),
        ("two/n1", "last", "0"),
        ("two/n0", "last", "1"),
    }
    assert outputs(graphs) == {"one/n1", "one/n0", "last"}


def test_cells_and_behaviour_are_single_nodes(tmp_path: Path) -> None:
    graphs = read(
        "module top(input clk, d, output y);\n"
        "  ff one (.CK (clk), .D (n), .Q (q), .QN ()); // not in the file\n"
        "  latch two (q, clk, r);\n  not (n, d); nand last (y, r, q);\nendmodule\n"
        "module latch(D, G, Z); input D, G; output Z; reg s; always @(G) if (G) s = D; assign Z = s; endmodule",
        tmp_path,
    )
    assert wired(graphs) == {
        ("not-2", "one", "1"),
        ("one", "two", "0"),
        ("one", "last", "1"),
        ("two", "last", "0"),
    }


def test_constants_are_kept_on_request(tmp_path: Path) -> None:
    text = "module m(input a, output y); supply0 gnd; or (y, a, 1'b1, gnd, 1'h1); endmodule"
    assert read(text, tmp_path).nodes == 1
    graphs = read(text, tmp_path, constants=True)
    assert sorted(graphs.node_vocabulary) == ["constant 0", "constant 1", "or"]
    assert graphs.operands(graphs.nodes - 1 if graphs.node_vocabulary[-1] == "or" else 0)


def test_circuits_with_feedback_keep_it(tmp_path: Path) -> None:
    graphs = read("module sr(input s, r, output q, p); nor a (q, r, p); nor b (p, s, q); endmodule", tmp_path)
    assert wired(graphs) == {("a", "b", "1"), ("b", "a", "1")}
    assert outputs(graphs) == {"a", "b"}


BENCH = """# c17 as ISCAS wrote it
INPUT(1)
INPUT(2)
INPUT(3)
OUTPUT(22)
10 = NAND(1, 3)
11 = NAND(3, 2)
22 = nand(10, 11)
r = DFF(22)
v = vdd
"""


def test_bench_files(tmp_path: Path) -> None:
    graphs = read(BENCH, tmp_path, "c.bench")
    assert wired(graphs) == {("10", "22", "0"), ("11", "22", "1"), ("22", "r", "0")}
    assert graphs.node_vocabulary == ("nand", "dff")
    assert outputs(graphs) == {"22"}


@st.composite
def netlists(draw: st.DrawFn) -> tuple[str, str, networkx.DiGraph]:
    """The same random circuit as Verilog, as bench, and as a graph."""
    inputs = draw(st.integers(1, 3))
    gates = draw(st.integers(1, 12))
    graph = networkx.DiGraph()
    verilog, bench = [], [f"INPUT(i{number})" for number in range(inputs)]
    for gate in range(gates):
        kind = draw(st.sampled_from(["and", "nand", "or", "nor", "xor", "xnor", "not", "buf"]))
        nets = [f"i{number}" for number in range(inputs)] + [f"g{number}" for number in range(gates)]
        count = 1 if kind in ("not", "buf") else draw(st.integers(2, 4))
        reads = draw(st.lists(st.sampled_from(nets), min_size=count, max_size=count))
        graph.add_node(f"g{gate}", type=kind)
        for net in reads:
            if net.startswith("g"):
                graph.add_edge(net, f"g{gate}")
        verilog.append(f"{kind} g{gate} (g{gate}, {', '.join(reads)});")
        bench.append(f"g{gate} = {kind.upper()}({', '.join(reads)})")
    ends = draw(st.sets(st.integers(0, gates - 1), min_size=1))
    for gate in range(gates):
        graph.nodes[f"g{gate}"]["output"] = gate in ends
    bench += [f"OUTPUT(g{gate})" for gate in ends]
    ports = [f"input i{number}" for number in range(inputs)] + [f"output g{gate}" for gate in sorted(ends)]
    return f"module m({', '.join(ports)});\n{chr(10).join(verilog)}\nendmodule", "\n".join(bench), graph


@given(netlists())
def test_both_formats_give_the_circuit(circuit: tuple[str, str, networkx.DiGraph]) -> None:
    verilog, bench, expected = circuit
    with tempfile.TemporaryDirectory() as folder:
        for name, text in (("m.v", verilog), ("m.bench", bench)):
            graphs = read(text, Path(folder), name)
            found = networkx.relabel_nodes(to_networkx(graphs, 0), dict(enumerate(graphs.node_names or [])))
            assert set(found.edges) == set(expected.edges)
            assert dict(found.nodes(data="type")) == dict(expected.nodes(data="type"))
            assert dict(found.nodes(data="output")) == dict(expected.nodes(data="output"))


def test_folders_and_archives(tmp_path: Path) -> None:
    (tmp_path / "deep").mkdir()
    read(HALF + FULL, tmp_path / "deep")
    read(BENCH, tmp_path, "c.bench")
    (tmp_path / "readme.txt").write_text("nothing")
    folder = load(f"circuits:{tmp_path}")
    assert folder.node_counts.tolist() == [4, 5]
    with zipfile.ZipFile(tmp_path / "all.whl", "w") as archive:
        for name in ("c.bench", "deep/circuit.v", "readme.txt"):
            archive.write(tmp_path / name, name)
    packed = load(f"circuits:{tmp_path / 'all.whl'}")
    assert packed.node_counts.tolist() == [4, 5]
    assert packed.graph_names[1] == f"{tmp_path / 'all.whl'}/deep/circuit.v"
    for place in (tmp_path / "missing", tmp_path / "readme.txt"):
        with pytest.raises(InputError, match=r"neither an archive nor a folder|is not a netlist"):
            load(f"circuits:{place}")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ("", "it has no module"),
        ("<html>", "line 1: a module is missing before '<'"),
        ("module m(a)", "line 1: ';' is missing before ''"),
        ("module m(a);\ninput a;\n\nnot (b, a)\nendmodule", "line 5: ';' is missing before 'endmodule'"),
        ("module m(a); input a; not (b, a);", "a statement begins with ''"),
        ("module m(input a); not (b, a); buf (b, a); endmodule", "the net 'b' has two drivers"),
        ("module m(input a); assign b = a; not (b, a); endmodule", "the net 'b' has two drivers"),
        ("module m(input a); not (b); endmodule", "the gate 'not-0' has no output and inputs"),
        ("module m(input a); not (a & c, a); endmodule", "an output is connected to an expression"),
        ("module m(input a); not n[3:0] (b, a); endmodule", "an array of instances is not read"),
        ("module m(input a); m n (a); endmodule", "no module in it describes gates"),
        ("module m(input a); always @(a) b = a; endmodule", "no module in it describes gates"),
        ("module t; m n(a); endmodule module m(input a); k n(a); endmodule module k(input a); m n(a); endmodule",
         "uses itself"),
        ("module t; m n(.z(a)); endmodule module m(input a); not (b, a); endmodule", "names a port 'z'"),
        ("module t; m n(a, b); endmodule module m(input a); not (b, a); endmodule", "more connections than"),
        ("module t; wire [1:0] a; assign a = b; endmodule", "1 bits are assigned to 2"),
        ("module t; wire [99999999:0] a; endmodule", "a vector has more than 65,536 bits"),
        ("module t; assign a = " + "(" * 500 + "b" + ")" * 500 + "; endmodule", "nested more than 100 deep"),
        ("module t; assign a = " + "~" * 5000 + "b; endmodule", "nested more than 100 deep"),
        ("module t; assign a = 99999'b0; endmodule", "a constant has more than 65,536 bits"),
        ("module t; not (a, b); assign b = a; assign a = b; endmodule", "has two drivers"),
        ("module t; assign b = a; assign a = b; not (c, a); endmodule", "a value is defined by itself"),
    ],
)  # fmt: skip
def test_what_is_no_netlist_is_refused(tmp_path: Path, text: str, reason: str) -> None:
    with pytest.raises(InputError) as error:
        read(text, tmp_path)
    sentence = str(error.value)
    assert reason in sentence
    assert str(tmp_path / "circuit.v") in sentence
    assert "\n" not in sentence


@pytest.mark.parametrize(
    "line", ["x", "y = NAND(a", "y = (a)", "OUTPUT(a, b)", "y = NAND()", "y = AND(a)\ny = AND(a)"]
)
def test_what_is_no_bench_file_is_refused(tmp_path: Path, line: str) -> None:
    with pytest.raises(InputError, match=r"c\.bench is not a netlist that GraDE reads"):
        read(f"INPUT(a)\n{line}\n", tmp_path, "c.bench")


WORDS = [*"();,.[]:'=~&|^{}#1ab \n\\", "module ", "endmodule", "wire ", "assign ", "not ", "input "]


@given(st.lists(st.sampled_from(WORDS)))
def test_any_text_is_read_or_refused(words: list[str]) -> None:
    with suppress(InputError):
        assert "m" in read_verilog(f"module m(a); input a; {''.join(words)} endmodule")
