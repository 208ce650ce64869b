"""Structural Verilog: modules with ports, gates, instances of other modules and continuous assignments.

Behavioural code (``always``, ``initial``, functions, user-defined primitives) is not read: such a module is known by
its ports only, like a cell of a library that is not in the file.
"""

import re
from collections.abc import Iterator
from dataclasses import dataclass, field

from grade.errors import InputError

COMMENTS = re.compile(r"//[^\n]*|/\*.*?\*/|\(\*(?!\)).*?\*\)|^\s*`[^\n]*", re.DOTALL | re.MULTILINE)
TOKEN = re.compile(
    r"\\(?P<escaped>\S+)|(?P<word>[A-Za-z_$][\w$]*)|(?P<number>\d*\s*'[sS]?[bodhBODH]\s*[\w?]+|\d[\d_]*)"
    r"|(?P<sign>[()\[\]{},;:=.#~&|^?@*<>+\-!%/\"])|(?P<space>\s+)|(?P<other>.)",
    re.DOTALL,
)
DIRECTIONS = ("input", "output", "inout")
NETS = ("wire", "tri", "wand", "wor", "supply0", "supply1", "logic")
BEHAVIOUR = ("always", "always_comb", "always_ff", "initial", "reg", "function", "task", "generate", "table")
SKIPPED = {"specify": "endspecify", "primitive": "endprimitive", "function": "endfunction"}
MAX_WIDTH = 1 << 16  # bits of a vector
MAX_DEPTH = 100  # of parentheses in an expression

# An expression: the name of a net, "0" or "1" in quotes for a constant, or (gate, operands).
Expression = str | tuple[str, list["Expression"]]


@dataclass(slots=True)
class Instance:
    kind: str
    name: str
    operands: list[Expression | None]  # by place, or by the names beside them
    ports: list[str] | None


@dataclass(slots=True)
class Module:
    """One module; vectors are written out bit by bit, ``a[3]``, ``a[2]`` ..."""

    name: str
    ports: list[str] = field(default_factory=list)
    directions: dict[str, str] = field(default_factory=dict)
    vectors: dict[str, list[str]] = field(default_factory=dict)  # name -> its bits
    instances: list[Instance] = field(default_factory=list)
    assigns: list[tuple[str, Expression]] = field(default_factory=list)
    constants: dict[str, str] = field(default_factory=dict)  # nets that are tied: name -> 0 or 1
    behavioural: bool = False

    def bits(self, name: str) -> list[str]:
        return self.vectors.get(name, [name])


def read_verilog(text: str) -> dict[str, Module]:
    """All modules of a file by their names.

    >>> half = "module half(a, b, s, c); input a, b; output s, c; xor x(s, a, b); and (c, a, b); endmodule"
    >>> [(gate.kind, gate.operands) for gate in read_verilog(half)["half"].instances]
    [('xor', ['s', 'a', 'b']), ('and', ['c', 'a', 'b'])]
    """
    parser = Parser(text)
    modules = {module.name: module for module in parser.modules()}
    if not modules:
        raise InputError("it has no module")
    return modules


class Parser:
    """Walks the tokens of a file once."""

    def __init__(self, text: str) -> None:
        # Comments become blanks on the same lines, so that positions keep their line numbers.
        self.text = COMMENTS.sub(lambda found: "\n" * found.group().count("\n") or " ", text)
        self.stream = self.tokens()
        self.kind, self.token, self.place = "", "", 0
        self.advance()

    def tokens(self) -> Iterator[tuple[str, str, int]]:
        for found in TOKEN.finditer(self.text):
            kind = found.lastgroup or ""
            if kind != "space":
                yield kind, found.group(kind), found.start()

    def advance(self) -> str:
        """Step over the present token and return it."""
        passed = self.token
        self.kind, self.token, self.place = next(self.stream, ("end", "", len(self.text)))
        return passed

    def refuse(self, what: str) -> InputError:
        return InputError(f"line {self.text.count(chr(10), 0, self.place) + 1}: {what}")

    def at(self, sign: str) -> bool:
        """Whether the present token is this sign or keyword, and no escaped name that looks like it."""
        return self.token == sign and self.kind in ("sign", "word")

    def take(self, sign: str) -> bool:
        found = self.at(sign)
        if found:
            self.advance()
        return found

    def expect(self, sign: str) -> None:
        if not self.take(sign):
            raise self.refuse(f"{sign!r} is missing before {self.token[:40]!r}")

    def word(self) -> str:
        if self.kind not in ("word", "escaped"):
            raise self.refuse(f"a name is missing before {self.token[:40]!r}")
        return self.advance()

    def skip_to(self, *ends: str) -> None:
        """Step over everything before one of these keywords or signs."""
        while not any(self.at(end) for end in ends):
            if self.kind == "end":
                raise self.refuse(f"{ends[0]!r} is missing at the end")
            self.advance()

    def modules(self) -> Iterator[Module]:
        while self.kind != "end":
            if self.at("primitive"):
                self.skip_to("endprimitive")
                self.advance()
            elif self.take("module") or self.take("macromodule"):
                yield self.module()
            else:
                raise self.refuse(f"a module is missing before {self.token[:40]!r}")

    def module(self) -> Module:
        module = Module(self.word())
        if self.take("#"):
            self.parentheses()
        if self.take("("):
            direction, bounds = "", None
            while not self.take(")"):
                while self.token in (*DIRECTIONS, *NETS, "reg", "signed") and self.kind == "word":
                    direction, bounds = self.token if self.token in DIRECTIONS else direction, None
                    self.advance()
                if self.at("["):
                    bounds = self.bounds()
                name = self.word()
                module.ports.append(name)
                if direction:
                    self.declare(module, name, direction, bounds)
                if not self.at(")"):
                    self.expect(",")
        self.expect(";")
        while not self.take("endmodule"):
            self.statement(module)
        return module

    def parentheses(self) -> None:
        """Step over a balanced pair."""
        self.expect("(")
        depth = 1
        while depth:
            if self.kind == "end":
                raise self.refuse("')' is missing at the end")
            depth += self.at("(") - self.at(")")
            self.advance()

    def bounds(self) -> tuple[int, int]:
        self.expect("[")
        first = self.integer()
        last = self.integer() if self.take(":") else first
        self.expect("]")
        if abs(first - last) >= MAX_WIDTH:
            raise self.refuse(f"a vector has more than {MAX_WIDTH:,} bits")
        return first, last

    def integer(self) -> int:
        if (
            self.kind != "number"
            or not self.token.isascii()
            or not self.token.isdigit()
            or len(self.token) > 9
        ):
            raise self.refuse(f"a number is missing before {self.token[:40]!r}")
        return int(self.advance())

    def declare(self, module: Module, name: str, direction: str, bounds: tuple[int, int] | None) -> None:
        if bounds is not None:
            first, last = bounds
            step = 1 if last >= first else -1
            module.vectors[name] = [f"{name}[{bit}]" for bit in range(first, last + step, step)]
        if direction in DIRECTIONS:
            module.directions[name] = direction
        elif direction in ("supply0", "supply1"):
            module.constants.update(dict.fromkeys(module.bits(name), direction[-1]))

    def statement(self, module: Module) -> None:
        if self.kind == "escaped" or (self.kind == "word" and self.token not in KEYWORDS):
            self.instances(module)
        elif self.take(";"):
            pass
        elif self.token in (*DIRECTIONS, *NETS) and self.kind == "word":
            direction = self.advance()
            while self.token in (*NETS, "reg", "signed") and self.kind == "word":
                module.behavioural |= self.advance() == "reg"
            bounds = self.bounds() if self.at("[") else None
            while True:
                name = self.word()
                self.declare(module, name, direction, bounds)
                if self.take("="):  # wire a = b;
                    module.assigns += self.pair(module, module.bits(name), self.expression(module))
                if not self.take(","):
                    break
            self.expect(";")
        elif self.take("assign"):
            self.delay()
            while True:
                target = self.operand(module)
                self.expect("=")
                module.assigns += self.pair(module, target, self.expression(module))
                if not self.take(","):
                    break
            self.expect(";")
        elif self.at("parameter") or self.at("localparam") or self.at("defparam"):
            self.skip_to(";")
        elif self.at("specify"):
            self.skip_to("endspecify")
            self.advance()
        elif self.kind == "word":  # behaviour: only its ports will be known
            module.behavioural = True
            self.skip_to("endmodule", "input", "output", "inout")
        else:
            raise self.refuse(f"a statement begins with {self.token[:40]!r}")

    def pair(
        self, module: Module, target: list[str], value: list[Expression]
    ) -> list[tuple[str, Expression]]:
        if len(target) != len(value):
            raise self.refuse(f"{len(value)} bits are assigned to {len(target)}")
        return list(zip(target, value, strict=True))

    def delay(self) -> None:
        if self.take("#"):
            if self.at("("):
                self.parentheses()
            else:
                self.advance()

    def instances(self, module: Module) -> None:
        """``kind #(...) name (...), name (...);``; gates need no name."""
        kind = self.word()
        self.delay()
        while True:
            name = "" if self.at("(") else self.word()
            if self.at("["):
                raise self.refuse("an array of instances is not read; write the instances out")
            self.expect("(")
            ports: list[str] = []
            operands: list[Expression | None] = []
            while not self.take(")"):
                if self.take("."):
                    port = self.word()
                    self.expect("(")
                    bits: list[Expression] = [] if self.at(")") else self.expression(module)
                    self.expect(")")
                    names = [port] if len(bits) < 2 else [f"{port}[{i}]" for i in reversed(range(len(bits)))]
                    ports += names
                    operands += bits or [None]
                elif self.at(","):
                    operands.append(None)
                else:
                    operands += self.expression(module)
                if not self.at(")"):
                    self.expect(",")
            if ports and len(ports) != len(operands):
                raise self.refuse("ports are given by name and by place at once")
            module.instances.append(Instance(kind, name, operands, ports or None))
            if not self.take(","):
                break
        self.expect(";")

    def expression(self, module: Module, depth: int = 0) -> list[Expression]:
        """The bits of an expression of ``? :``, ``|``, ``^``, ``&`` and ``~``, loosest first."""
        if depth > MAX_DEPTH:
            raise self.refuse(f"an expression is nested more than {MAX_DEPTH} deep")
        value = self.chain(module, 0, depth)
        if not self.take("?"):
            return value
        one = self.expression(module, depth + 1)
        self.expect(":")
        other = self.expression(module, depth + 1)
        if not len(one) == len(other) or len(value) != 1:
            raise self.refuse("the parts of a choice have different numbers of bits")
        return [("mux", [value[0], a, b]) for a, b in zip(one, other, strict=True)]

    def chain(self, module: Module, level: int, depth: int) -> list[Expression]:
        """Operands with the same sign between them; one gate of all of them."""
        if level == len(CHAINS):
            return self.unary(module, depth)
        sign, gate = CHAINS[level]
        parts = [self.chain(module, level + 1, depth)]
        while self.take(sign):
            self.take(sign)  # && and || of single bits
            parts.append(self.chain(module, level + 1, depth))
        if len(parts) == 1:
            return parts[0]
        if len({len(part) for part in parts}) > 1:
            raise self.refuse(f"the operands of {sign!r} have different numbers of bits")
        return [(gate, list(bits)) for bits in zip(*parts, strict=True)]

    def unary(self, module: Module, depth: int) -> list[Expression]:
        if self.take("~") or self.take("!"):
            if depth > MAX_DEPTH:
                raise self.refuse(f"an expression is nested more than {MAX_DEPTH} deep")
            return [("not", [bit]) for bit in self.unary(module, depth + 1)]
        if self.take("("):
            value = self.expression(module, depth + 1)
            self.expect(")")
            return value
        return list(self.operand(module))

    def operand(self, module: Module) -> list[str]:
        """The bits of a net, a vector, a part of one, a constant, or several in braces."""
        if self.take("{"):
            bits = self.operand(module)
            while self.take(","):
                bits += self.operand(module)
            self.expect("}")
            return bits
        if self.kind == "number":
            return self.number()
        escaped = self.kind == "escaped"
        name = self.word()
        if not self.at("[") or (escaped and name not in module.vectors):
            return list(module.bits(name))
        first, last = self.bounds()
        step = 1 if last >= first else -1
        return [f"{name}[{bit}]" for bit in range(first, last + step, step)]

    def number(self) -> list[str]:
        """The bits of a constant, the highest first, each "'0'" or "'1'"."""
        width, quote, digits = self.advance().replace("_", "").replace(" ", "").partition("'")
        digits = digits.lstrip("sS")
        base = {"b": 2, "o": 8, "d": 10, "h": 16}.get(digits[:1].lower())
        try:
            value = int(digits[1:], base) if base else int(width)
            length = int(width) if quote and width else max(value.bit_length(), 1)
        except ValueError:
            raise self.refuse(f"a constant cannot be read before {self.token[:40]!r}") from None
        if length > MAX_WIDTH:
            raise self.refuse(f"a constant has more than {MAX_WIDTH:,} bits")
        return [f"'{value >> bit & 1}'" for bit in reversed(range(length))]


CHAINS = (("|", "or"), ("^", "xor"), ("&", "and"))
KEYWORDS = {
    *DIRECTIONS,
    *NETS,
    *BEHAVIOUR,
    *SKIPPED,
    "assign",
    "parameter",
    "localparam",
    "defparam",
    "endmodule",
    "begin",
    "genvar",
    "integer",
    "real",
}
