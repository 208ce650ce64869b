"""Gate-level circuits: netlists in structural Verilog and in the bench format of ISCAS.

    circuits:FOLDER     all .v and .bench files below a folder
    circuits:ARCHIVE    the same in a .zip or a wheel (the package circuitgraph brings 62 netlists), not unpacked

A node is a gate, typed by its kind (``nand``, ``not``, ``xor`` ...), a flip-flop or a cell; an arc leads from a gate to
one that reads its output, and keeps which input that is. Inputs of the circuit are no nodes; its outputs are known
as such. Instances of modules in the same file are replaced by the gates in them; of other modules only the
connections are known, so each becomes one node of the module's name. Expressions after ``assign`` become gates.
"""

import re
import zipfile
from collections.abc import Iterator
from pathlib import Path, PurePosixPath

from grade.errors import InputError
from grade.graphs import GraphSet
from grade.settings import ReadSettings
from grade.sources.archives import archived
from grade.sources.operator_graph import MAX_OPERATORS, OperatorGraph, Value
from grade.sources.readers import Item, reader
from grade.sources.source_registry import source
from grade.sources.verilog import Expression, Instance, Module, read_verilog

SUFFIXES = (".v", ".bench")
ARCHIVES = (".zip", ".whl")
MAX_BYTES = 1 << 30  # of one netlist
MAX_NESTING = 50
GATES = ("and", "nand", "or", "nor", "xor", "xnor", "bufif0", "bufif1", "notif0", "notif1")  # output first
INVERTERS = ("not", "buf")  # input last, any number of outputs before it
OUTPUTS = re.compile(
    r"(q|qn|qb|q_n|y|yn|z|zn|o|out|co|cout|sum)\d*", re.IGNORECASE
)  # of cells not in the file
BENCH = re.compile(r"(?:(\S+)\s*=\s*)?(\w+)\s*(?:\(([^()]*)\))?")


@source(
    "circuits",
    "Gate-level netlists (Verilog, bench): a folder, an archive or a wheel.",
    argument="PATH",
    needs_argument=True,
)
def circuits(path: str) -> list[Item]:
    place = Path(path)
    if place.is_file():
        return [Item("netlist", path)]
    found = sorted(file for file in place.rglob("*") if file.suffix.lower() in SUFFIXES and file.is_file())
    if not found:
        raise InputError(
            f"{path} is neither an archive nor a folder with netlists ({', '.join(SUFFIXES)}) in it; name another."
        )
    return [Item("netlist", str(file)) for file in found]


@reader("netlist", "gate-level netlists", suffixes=SUFFIXES)
def read_netlists(path: str, settings: ReadSettings | None = None) -> Iterator[GraphSet]:
    """The circuit of a file, or all circuits of an archive."""
    choices = settings or ReadSettings()
    try:
        found = texts(Path(path))
        for name, text in archived(path, found) if Path(path).suffix.lower() in ARCHIVES else found:
            try:
                read = read_bench(text) if name.lower().endswith(".bench") else read_modules(text)
                for module, graph in read:
                    yield graph.graph_set(f"{name}:{module}" if module else name, choices, path)
            except (InputError, RecursionError) as error:
                reason = error if isinstance(error, InputError) else "it is nested too deep"
                raise InputError(f"{name} is not a netlist that GraDE reads ({reason}).") from None
    except OSError as error:
        raise InputError(f"{path} cannot be read ({error}); check that it is whole.") from None


def texts(path: Path) -> Iterator[tuple[str, str]]:
    """(name, text) of a netlist, or of all in an archive."""
    if path.suffix.lower() not in ARCHIVES:
        with path.open("rb") as file:
            yield str(path), decoded(str(path), file.read(MAX_BYTES + 1))
        return
    with zipfile.ZipFile(path) as archive:
        for entry in archive.infolist():
            if PurePosixPath(entry.filename).suffix.lower() in SUFFIXES:
                with archive.open(entry) as file:
                    name = f"{path}/{entry.filename}"
                    yield name, decoded(name, file.read(MAX_BYTES + 1))


def decoded(name: str, content: bytes) -> str:
    if len(content) > MAX_BYTES:
        raise InputError(f"{name} is refused, for it has more than {MAX_BYTES:,} bytes; split it.")
    return content.decode("utf-8", "replace")


def read_bench(text: str) -> Iterator[tuple[str, OperatorGraph]]:
    """The bench format: ``INPUT(a)``, ``OUTPUT(y)``, ``y = NAND(a, b)``, one a line."""
    graph, nets, outputs = OperatorGraph(), Nets(OperatorGraph()), []
    nets = Nets(graph)
    for number, line in enumerate(text.splitlines(), 1):
        statement = line.partition("#")[0].strip()
        if not statement:
            continue
        found = BENCH.fullmatch(statement)
        if found is None:
            raise InputError(f"line {number}: it is not like y = NAND(a, b)")
        target, kind, listed = found.group(1), found.group(2).lower(), found.group(3)
        operands = [name.strip() for name in (listed or "").split(",") if name.strip()]
        if target is None and kind in ("input", "output") and len(operands) == 1:
            if kind == "output":
                outputs.append(operands[0])
        elif target is None or (not operands and kind not in ("vdd", "gnd")):
            raise InputError(f"line {number}: it is not like y = NAND(a, b)")
        else:
            kind = {"buff": "buf", "inv": "not"}.get(kind, kind)
            reads: list[Value] = [nets.value(name) for name in operands]
            nets.drive(target)
            graph.add(kind, target, reads, [nets.value(target)], constant=not operands, place=number - 1)
    graph.outputs = [nets.value(name) for name in outputs]
    yield "", graph


def read_modules(text: str) -> Iterator[tuple[str, OperatorGraph]]:
    """The circuits of a Verilog file: its modules that no other one uses."""
    modules = read_verilog(text)
    used = {gate.kind for module in modules.values() for gate in module.instances}
    tops = [module for module in modules.values() if module.name not in used and not module.behavioural]
    if not tops:
        raise InputError("no module in it describes gates; synthesise it first")
    for module in tops:
        yield module.name if len(tops) > 1 else "", Elaboration(modules).run(module)


class Nets:
    """The nets of one module, made when they are first named."""

    def __init__(self, graph: OperatorGraph) -> None:
        self.graph = graph
        self.values: dict[str, Value] = {}
        self.driven: set[str] = set()

    def value(self, name: str) -> Value:
        if name not in self.values:
            self.values[name] = value = Value()
            if name in ("'0'", "'1'"):
                self.graph.add(f"constant {name[1]}", f"constant {name[1]}", [], [value], constant=True)
        return self.values[name]

    def drive(self, name: str) -> None:
        if name in self.driven:
            raise InputError(f"the net {name!r} has two drivers")
        self.driven.add(name)


class Elaboration:
    """Makes one `OperatorGraph` of a module and of the modules that it uses."""

    def __init__(self, modules: dict[str, Module]) -> None:
        self.modules = modules
        self.result = OperatorGraph()
        self.instances = 0
        self.place = (
            0  # in the list of instances of the circuit; those of inner modules count as the outer one
        )

    def run(self, module: Module) -> OperatorGraph:
        nets = Nets(self.result)
        self.module(module, nets, "", 0)
        ends = (name for name, direction in module.directions.items() if direction != "input")
        self.result.outputs = [nets.value(bit) for name in ends for bit in module.bits(name)]
        return self.result

    def module(self, module: Module, nets: Nets, prefix: str, depth: int) -> None:
        """Add all gates of a module; its ports are bound in ``nets`` already."""
        for name, bit in module.constants.items():
            self.connect(nets, name, f"'{bit}'", prefix)
        for number, gate in enumerate(module.instances):
            if depth == 0:
                self.place = number
            self.instances += 1
            if depth > MAX_NESTING or self.instances > MAX_OPERATORS:
                raise InputError(f"the module {gate.kind!r} uses itself, or it unfolds to too many instances")
            name = f"{prefix}{gate.name or f'{gate.kind}-{number}'}"
            if gate.kind in GATES or gate.kind in INVERTERS:
                self.gate(gate, nets, name)
            elif gate.kind in self.modules and not self.modules[gate.kind].behavioural:
                self.inner(gate, self.modules[gate.kind], nets, name, depth)
            else:
                self.cell(gate, nets, name)
        for number, (target, expression) in enumerate(module.assigns, len(module.instances)):
            if depth == 0:
                self.place = number
            self.connect(nets, target, expression, f"{prefix}{target}")

    def gate(self, gate: Instance, nets: Nets, name: str) -> None:
        outputs = len(gate.operands) - 1 if gate.kind in INVERTERS else 1
        if len(gate.operands) < 2 or gate.ports is not None:
            raise InputError(f"the gate {name!r} has no output and inputs")
        reads = [self.read(nets, operand, name) for operand in gate.operands[outputs:]]
        self.drive(gate.kind, name, reads, nets, gate.operands[:outputs])

    def cell(self, gate: Instance, nets: Nets, name: str) -> None:
        """A module that is not known, or by its ports only: one node."""
        known = self.modules.get(gate.kind)
        ports = gate.ports or (known.ports if known else None)
        if ports is None or len(ports) < len(gate.operands):
            ports = ["q", *("" for _ in gate.operands[1:])]  # as with gates the output comes first
        reads: list[Value] = []
        targets: list[Expression | None] = []
        for port, operand in zip(ports, gate.operands, strict=False):
            given = known.directions.get(port.partition("[")[0]) if known else None
            if given == "output" or (given is None and OUTPUTS.fullmatch(port.partition("[")[0])):
                targets.append(operand)
            else:
                reads.append(Value(absent=True) if operand is None else self.read(nets, operand, name))
        self.result.add(gate.kind, name, reads, self.targets(nets, targets), place=self.place)

    def inner(self, gate: Instance, module: Module, nets: Nets, name: str, depth: int) -> None:
        """Put the gates of a module in the place of its instance."""
        inside = Nets(self.result)
        bits = [bit for port in module.ports for bit in module.bits(port)]
        if gate.ports is not None:
            bits = self.named_bits(gate.ports, module, name)
        if len(bits) < len(gate.operands):
            raise InputError(
                f"the instance {name!r} has more connections than the module {gate.kind!r} has ports"
            )
        for bit, operand in zip(bits, gate.operands, strict=False):
            if operand is None:
                continue
            if module.directions.get(bit.partition("[")[0]) == "input":
                inside.values[bit] = self.read(nets, operand, name)
                inside.driven.add(bit)
            else:
                (inside.values[bit],) = self.targets(nets, [operand])
        self.module(module, inside, f"{name}/", depth + 1)

    def named_bits(self, ports: list[str], module: Module, name: str) -> list[str]:
        """The bits that a named connection is for: those of a vector are given together, the highest first."""
        counts: dict[str, int] = {}
        bits = []
        for port in ports:
            whole = port if port in module.ports else port.rpartition("[")[0]
            if whole not in module.ports:
                raise InputError(
                    f"the instance {name!r} names a port {port!r} that {module.name!r} does not have"
                )
            place = counts.get(whole, 0)
            if place >= len(module.bits(whole)):
                raise InputError(f"the instance {name!r} gives the port {whole!r} too many bits")
            bits.append(module.bits(whole)[place])
            counts[whole] = place + 1
        return bits

    def read(self, nets: Nets, expression: Expression | None, name: str) -> Value:
        """The value of an expression; anything more than a net becomes gates."""
        if expression is None:
            return Value(absent=True)
        if isinstance(expression, str):
            return nets.value(expression)
        result = Value()
        self.express(nets, expression, result, name)
        return result

    def express(self, nets: Nets, expression: tuple[str, list[Expression]], result: Value, name: str) -> None:
        kind, parts = expression
        reads = [self.read(nets, part, name) for part in parts]
        self.result.add(kind, name, reads, [result], place=self.place)

    def connect(self, nets: Nets, target: str, expression: Expression, name: str) -> None:
        """An assignment: another name for a net, or the gates of an expression."""
        nets.drive(target)
        if isinstance(expression, str):
            nets.value(target).alias = nets.value(expression)
        else:
            self.express(nets, expression, nets.value(target), name)

    def targets(self, nets: Nets, operands: list[Expression | None]) -> list[Value]:
        """The nets that an instance drives; unconnected outputs have one of their own."""
        values = []
        for operand in operands:
            if operand is None:
                values.append(Value())
            elif isinstance(operand, str):
                nets.drive(operand)
                values.append(nets.value(operand))
            else:
                raise InputError("an output is connected to an expression")
        return values

    def drive(
        self, kind: str, name: str, reads: list[Value], nets: Nets, operands: list[Expression | None]
    ) -> None:
        """A gate whose outputs are all the same."""
        first, *others = self.targets(nets, operands)
        self.result.add(kind, name, reads, [first], place=self.place)
        for value in others:
            value.alias = first
