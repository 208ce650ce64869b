"""Readable names for blocks, from the operators inside in the order of computing. A block of few kinds of operators is
named by them (conv-norm-relu), a larger one after a known structure (attention, bottleneck, mlp), else after its most
frequent operators. Letters distinguish blocks of the same name, the one that saves most first.
"""

import itertools
import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from grade.blocks.grammar import Grammar, Wiring, base_name
from grade.blocks.places import Places
from grade.errors import InputError

LINEAR = {"gemm", "linear", "addmm"}
PRODUCTS = {"linear", "matmul", "bmm", "baddbmm", "einsum", "mm", "matmulnbits", "fusedmatmul"}
ACTIVATIONS = {
    "relu",
    "gelu",
    "silu",
    "swish",
    "tanh",
    "fastgelu",
    "quickgelu",
    "leakyrelu",
    "hardswish",
    "elu",
    "clip",
}
SHAPES = {
    "shape",
    "gather",
    "unsqueeze",
    "squeeze",
    "concat",
    "slice",
    "cast",
    "constant",
    "reshape",
    "transpose",
}
SHAPES |= {
    "range",
    "expand",
    "constantofshape",
    "where",
    "equal",
    "view",
    "permute",
    "split",
    "tile",
    "flatten",
}
RECURRENT = {"lstm", "gru", "rnn"}
POOLS = {"pool", "mean", "reducemean"}
GATES = {"sigmoid", "hardsigmoid"}
HANDED_ON = {"identity", "dropout"}
RESHAPING = {"reshape", "view", "flatten", "squeeze", "unsqueeze", "contiguous"}
QUANTIZING = {
    "quantizelinear": "quantize",
    "dequantizelinear": "dequantize",
    "dynamicquantizelinear": "quantize",
}
CONSTANTS = {"constant", "constantofshape", "eyelike", "dequantizelinear"}
CONSTANTS |= {"reshape", "unsqueeze", "transpose", "cast", "expand"}  # if they read no computed value
ADDITIONS = {"add", "sum"}
CONCATENATIONS = {"concat", "cat"}
SPLITS = {"split", "chunk", "unbind", "tensor_split"}
# Operators by what they read:
BIAS = "bias"  # an addition that reads one computed value
SCALE = "scale"  # a product that does
SHORTCUT = "shortcut"  # an addition beside convolutions or products
JOIN = "join"  # concatenates results of convolutions or products
BRANCHES = "branches"  # joins several branches of convolutions or products
SWISH = "swish"  # a product of a value with its sigmoid
WEIGHT = "weight"  # reads constants only
INSIDE = "inside"  # part of the one that reads it
MOST_WORDS = 3  # of a block that is named by its operators
MOST_EXCITE = 12  # operators of a squeeze-and-excite block
EXAMPLES = 16  # occurrences that are looked at
PLAIN = {BIAS: "add", SHORTCUT: "add", "sum": "add", SCALE: "mul", "cat": "concat"}  # roles as words
PLAIN |= {BRANCHES: "concat", JOIN: "concat"}
FEWEST_BRANCHES = 3
MOST_PREPARING = 3  # operators between a constant and its use
MOST_TRACED = 5_000  # operators of a block whose shortcuts are told from other additions


def constant_nodes(wiring: Wiring) -> NDArray[np.bool_]:
    """[nodes] operators that only prepare weights, as those of models that are stored without them."""
    reads = np.diff(np.searchsorted(wiring.targets, np.arange(len(wiring.types) + 1)))
    prepares = np.array([kind(name) in CONSTANTS for name in wiring.type_names], np.bool_)[wiring.types]
    constant: NDArray[np.bool_] = prepares & (reads == 0)
    for _ in range(MOST_PREPARING if constant.any() else 0):
        computed = np.bincount(wiring.targets[~constant[wiring.sources]], minlength=len(reads))
        constant |= prepares & (computed == 0)
    return constant


def computed_types(grammar: Grammar, places: Places, symbol: int, constant: NDArray[np.bool_]) -> list[str]:
    """The operators of a block, producers first; additions, products and constants by what they read."""
    begins = places.of(symbol)[:EXAMPLES]
    nodes = grammar.order[begins[:, None] + np.arange(grammar.sizes[symbol])].astype(np.int64)
    wiring = grammar.wiring
    levels = grammar.levels[nodes[0]].tolist()
    types = [wiring.type_names[t] for t in wiring.types[nodes[0]].tolist()]
    order = sorted(range(len(types)), key=lambda i: (levels[i], types[i]))
    nodes = nodes[:, order]
    begin, end = np.searchsorted(wiring.targets, nodes), np.searchsorted(wiring.targets, nodes + 1)
    read = [
        [[s for s in wiring.sources[a:b].tolist() if not constant[s]] for a, b in zip(*row, strict=True)]
        for row in zip(begin, end, strict=True)
    ]
    most = [max(map(len, column)) for column in zip(*read, strict=True)]
    place = {node: number for number, node in enumerate(nodes[0].tolist())}
    # Two that read a Split outside read different values of it.
    split = [kind(name) in SPLITS for name in wiring.type_names]
    apart = itertools.count(-1 - len(wiring.types), -1)
    sources = [
        [place.get(s, next(apart) if split[wiring.types[s]] else -1 - s) for s in each] for each in read[0]
    ]
    named = [WEIGHT if constant[node] else types[i] for node, i in zip(nodes[0].tolist(), order, strict=True)]
    return roles(named, sources, most, lambda i, j: all(set(row[i]) & set(row[j]) for row in read))


def roles(
    types: Sequence[str],
    sources: Sequence[Sequence[int]],
    reads: Sequence[int],
    share: Callable[[int, int], bool] = lambda _, __: True,
) -> list[str]:
    """The operators of a block, some of them by their role. They come producers first, each with those that it reads
    (by number, below 0 outside) and how many computed values it reads at most in all occurrences; ``share`` says
    whether two that read the same do so in all of them.

    >>> roles(["Conv", "Sigmoid", "Mul", "Add"], [[-1], [0], [0, 1], [2, -1]], [1, 1, 2, 2])
    ['Conv', 'inside', 'swish', 'shortcut']
    >>> roles(["Conv", "Sigmoid", "Mul", "Add"], [[-1], [0], [1], [2]], [1, 1, 1, 1])
    ['Conv', 'Sigmoid', 'scale', 'bias']
    """
    named = list(types)
    behind = [0] * len(types)  # bits of those that each depends on, itself included
    heavy = layers = 0  # bits of convolutions and products, and of norms and pools, too
    traced = len(types) <= MOST_TRACED
    for i, name in enumerate(map(kind, types)):
        inner = [j for j in sources[i] if j >= 0]
        if traced:
            behind[i] = 1 << i
            for j in inner if name != "shape" else []:
                behind[i] |= behind[j]
        if name in ADDITIONS:
            common = behind[inner[0]] & behind[inner[-1]] if len(inner) > 1 else 0
            sides = [behind[j] & ~common for j in inner]
            if reads[i] < 2:
                named[i] = BIAS
            elif not traced or (
                any(side & heavy for side in sides) and all(not side or side & layers for side in sides)
            ):
                named[i] = SHORTCUT
        elif name in CONCATENATIONS and traced:
            met = seen = 0  # in one branch, in several
            for j in inner:
                met, seen = met | behind[j], seen | met & behind[j]
            if sum(bool(behind[j] & ~seen & heavy) for j in inner) >= FEWEST_BRANCHES:
                named[i] = BRANCHES
            elif met & heavy:
                named[i] = JOIN
        elif name == "mul" and reads[i] < 2:
            named[i] = SCALE
        elif name == "mul":
            read = {j for j in sources[i] if j < 0 or kind(types[j]) not in SPLITS}
            gates = [
                j for j in inner if kind(types[j]) == "sigmoid" and read & set(sources[j]) and share(i, j)
            ]
            if gates:
                named[i], named[gates[0]] = SWISH, INSIDE
        if word(types[i]) in PRODUCTS | {"conv", "attention"}:
            heavy |= 1 << i
        if word(types[i]) in PRODUCTS | {"conv", "attention", "norm", "pool"}:
            layers |= 1 << i
    return named


def kind(type_name: str) -> str:
    """The bare name of an operator, also of one in place as ``aten.add_``."""
    return base_name(type_name).rstrip("_")


def word(type_name: str) -> str:
    """An operator in a name.

    >>> [word(name) for name in ("aten.conv2d", "BatchNormalization", "aten.relu_", "GlobalAveragePool")]
    ['conv', 'norm', 'relu', 'pool']
    """
    name = kind(type_name)
    if name in LINEAR:
        return "linear"
    if name in QUANTIZING:
        return QUANTIZING[name]
    for part in ("conv", "norm", "pool", "attention", "matmul"):
        if part in name and name not in PRODUCTS:
            return part
    return re.sub(r"[^a-z0-9_]", "", name) or "block"


def words_of(types: Sequence[str]) -> list[str]:
    """The operators as words: layers with their bias, Gelu and HardSwish are one word each.

    >>> words_of(["MatMul", "bias", "Div", "Erf", "bias", "Mul", "scale"])
    ['linear', 'gelu']
    >>> words_of(["Conv", "BatchNormalization", "bias", "Clip", "Mul", "Div"])
    ['conv', 'norm', 'hardswish']
    """
    words: list[str] = []
    for each in map(word, types):
        before = next((old for old in reversed(words) if old not in RESHAPING), "")
        if each == BIAS and before in ("matmul", "conv", "linear", "norm"):
            last = len(words) - 1 - words[::-1].index(before)
            words[last] = "linear" if before == "matmul" else before
        elif each == SCALE and before == "norm":
            continue
        else:
            words.append(PLAIN.get(each, each))
    words = folded(words, "erf", "div add mul mul", "gelu")
    counts = Counter(words)
    if counts["clip"] <= min(counts["mul"], counts["div"]):
        words = folded(words, "clip", "add mul div", "hardswish")
    return words


def folded(words: list[str], key: str, others: str, short: str) -> list[str]:
    """One word for an operator and those from the one before it on that belong to it, as far as they are there."""
    gone: set[int] = set()
    for place in (i for i, each in enumerate(words) if each == key):
        for other in others.split():
            places = range(max(place - 1, 0), len(words))
            gone.update([i for i in places if words[i] == other and i not in gone][:1])
    return [short if each == key else each for i, each in enumerate(words) if i not in gone]


def base_of(types: Sequence[str]) -> str:
    """A name for a block of operators of these types, in the order of computing.

    >>> base_of(["Conv", "Relu", "Conv", "Relu", "Conv", "shortcut", "Relu"]), base_of(["Conv", "bias", "Relu"])
    ('bottleneck', 'conv-relu')
    >>> base_of(["LayerNormalization", "MatMul", "Softmax", "MatMul", "Add", "Gemm", "Gelu", "Gemm"])
    'attention-mlp'
    >>> base_of(["Conv", "bias", "Add", "Clip", "Div"]), base_of(["DequantizeLinear", "MatMul", "Reshape", "bias"])
    ('conv', 'quantized-linear')
    >>> base_of(["Mul", "Sin", "Mul"]), base_of(["Identity", "Mul", "Identity"]), base_of(["MatMul", "bias"])
    ('mul-sin', 'mul', 'linear')
    """
    told = [name for name in types if kind(name) not in HANDED_ON | {WEIGHT, INSIDE}] or types
    computing = [name for name in told if kind(name) not in QUANTIZING]
    if computing and len(computing) < len(told):
        return f"quantized-{base_of(computing)}"
    words = words_of(told)
    counts = Counter(words)
    if counts["conv"] or any(counts[each] for each in PRODUCTS):
        counts = Counter({each: number for each, number in counts.items() if each not in RESHAPING})
    distinct = [each for each in dict.fromkeys(words) if counts[each]]
    found = structures(counts, Counter(types))
    if found and (
        len(distinct) > MOST_WORDS or found[0] not in ("conv", "linear", "norm-linear", "conv-concat")
    ):
        return "-".join(found)
    if set(counts) <= {"mul", "pow", "add", "tanh"} and (counts["tanh"], counts["add"]) == (1, 2):
        return "gelu"
    if len(distinct) <= MOST_WORDS:
        return "-".join(distinct)
    if is_norm(counts):
        return "norm"
    if sum(counts[each] for each in SHAPES) == counts.total():
        return "shape"
    return "-".join(sorted(counts, key=lambda each: (-counts[each], each))[:2])


def structures(counts: Counter[str], roles: Counter[str]) -> list[str]:
    """Known structures among so many operators of each word and of each role."""

    def number(words: set[str]) -> int:
        return sum(counts[each] for each in words)

    found: list[str] = []
    products, convolutions = number(PRODUCTS), counts["conv"]
    gated = number(POOLS) and number(GATES) and counts["mul"]
    if gated and products + convolutions in (2, 3) and not roles[SHORTCUT] and counts.total() <= MOST_EXCITE:
        return ["squeeze-excite"]
    recurrent = number(RECURRENT) or (counts["sigmoid"] > 1 and counts["tanh"] and counts["mul"] > 1)
    if (counts["softmax"] and products >= 2) or counts["attention"]:
        found.append("attention")
        products -= 2 if counts["softmax"] else 0
    if convolutions > 1 and roles[SHORTCUT]:
        found.append("bottleneck" if convolutions in (3, 4) else "residual")
    elif convolutions and roles[SHORTCUT] and len(counts) > MOST_WORDS:
        found.append("residual")
    elif convolutions and (roles[BRANCHES] or roles[JOIN]):
        found.append("inception" if roles[BRANCHES] else "conv-concat")
    elif convolutions:
        found.append("conv")
    elif products >= 2 and number(ACTIVATIONS) and not recurrent:
        found.append("mlp")
    elif products == 1 and not found:
        found.append("norm-linear" if is_norm(counts) else "linear")
    if gated and convolutions > 2:
        found.append("se")
    if {"neg", "concat"} <= set(counts) and counts["mul"] > 1 and "attention" not in found:
        found.append("rotary")
    if recurrent:
        found.append("recurrent")
    return found


def is_norm(counts: Counter[str]) -> bool:
    """Whether there is a norm, as one operator or written out."""
    return bool(counts["norm"]) or {"reducemean", "sqrt"} <= set(counts)


def names(types: Sequence[Sequence[str]]) -> list[str]:
    """Distinct names of several blocks, the most important one first; of each the operators in the order of computing.

    >>> names([["Conv"], ["Conv", "Conv"], ["Gemm"]])
    ['conv-a', 'conv-b', 'linear']
    """
    bases = [base_of(each) for each in types]
    several = Counter(bases)
    met: Counter[str] = Counter()
    result = []
    for base in bases:
        met[base] += 1
        result.append(f"{base}-{letters(met[base])}" if several[base] > 1 else base)
    return result


def letters(number: int) -> str:
    """1 is a, 26 z, 27 aa.

    >>> [letters(n) for n in (1, 26, 27, 703)]
    ['a', 'z', 'aa', 'aaa']
    """
    text = ""
    while number:
        number, digit = divmod(number - 1, 26)
        text = chr(97 + digit) + text
    return text


class NamesError(InputError):
    """Names that do not fit the blocks."""


def renamed(given: list[str], names: Mapping[str, str]) -> list[str]:
    """The names, some of them replaced."""
    if unknown := sorted(set(names) - set(given)):
        raise NamesError(
            f"There is no block {unknown[0]!r} to rename; take the names from the list of blocks."
        )
    result = [names.get(name, name) for name in given]
    twice = sorted({name for name in result if result.count(name) > 1}) if names else []
    if twice:
        raise NamesError(f"Two blocks would be named {twice[0]!r}; give each a name of its own.")
    return result
