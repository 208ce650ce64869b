"""Readable names for blocks, from the operators inside in the order of computing. A block of few kinds of operators is
named by them (conv-norm-relu), a larger one after a known structure (attention, bottleneck, mlp), else after its most
frequent operators. Letters distinguish blocks of the same name, the one that saves most first.
"""

import re
from collections import Counter
from collections.abc import Mapping, Sequence

import numpy as np

from grade.blocks.grammar import Grammar, base_name
from grade.blocks.places import Places
from grade.errors import InputError

LINEAR = {"gemm", "linear", "addmm"}
PRODUCTS = {"linear", "matmul", "bmm", "baddbmm", "einsum", "mm", "matmulnbits", "fusedmatmul"}
ACTIVATIONS = {
    "relu",
    "gelu",
    "silu",
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
BIAS = "bias"  # an addition that reads one computed value
MOST_WORDS = 3  # of a block that is named by its operators
MOST_EXCITE = 12  # operators of a squeeze-and-excite block
EXAMPLES = 16  # occurrences that are looked at


def computed_types(grammar: Grammar, places: Places, symbol: int) -> list[str]:
    """The operators of a block, producers first. An addition that reads one computed value only is a bias."""
    begins = places.of(symbol)[:EXAMPLES]
    nodes = grammar.order[begins[:, None] + np.arange(grammar.sizes[symbol])].astype(np.int64)
    wiring = grammar.wiring
    reads = np.searchsorted(wiring.targets, nodes + 1) - np.searchsorted(wiring.targets, nodes)
    types = [wiring.type_names[t] for t in wiring.types[nodes[0]].tolist()]
    joins = (reads.max(axis=0) > 1).tolist()
    named = [
        BIAS if base_name(name).rstrip("_") == "add" and not join else name
        for name, join in zip(types, joins, strict=True)
    ]
    levels = grammar.levels[nodes[0]].tolist()
    return [named[place] for place in sorted(range(len(named)), key=lambda i: (levels[i], named[i]))]


def word(type_name: str) -> str:
    """An operator in a name.

    >>> [word(name) for name in ("aten.conv2d", "BatchNormalization", "aten.relu_", "GlobalAveragePool")]
    ['conv', 'norm', 'relu', 'pool']
    """
    name = base_name(type_name).rstrip("_") if type_name != BIAS else BIAS
    if name in LINEAR:
        return "linear"
    for part, short in (("conv", "conv"), ("norm", "norm"), ("pool", "pool"), ("attention", "attention")):
        if part in name:
            return short
    return re.sub(r"[^a-z0-9_]", "", name) or "block"


def words_of(types: Sequence[str]) -> list[str]:
    """The operators as words: products with their bias, Gelu and Swish are one word each.

    >>> words_of(["MatMul", "bias", "Div", "Erf", "bias", "Mul", "Mul", "Conv", "Sigmoid", "Mul"])
    ['linear', 'gelu', 'conv', 'swish']
    """
    words: list[str] = []
    for each in map(word, types):
        if each == BIAS:
            before = words[-1] if words else ""
            if before == "matmul":
                words[-1] = "linear"
            elif before not in ("conv", "linear"):
                words.append("add")
        else:
            words.append(each)
    words = folded(words, "erf", "div add mul mul", "gelu")
    counts = Counter(words)
    if counts["mul"] == 1 and not set(counts) & (POOLS | {"tanh"}):
        words = folded(words, "sigmoid", "mul", "swish")
    return words


def folded(words: list[str], key: str, others: str, short: str) -> list[str]:
    """One word for an operator that occurs once and those from the one before it on that belong to it."""
    if words.count(key) != 1:
        return words
    place, spent, kept = words.index(key), Counter(others.split()), []
    for i, each in enumerate(words):
        if i == place:
            kept.append(short)
        elif i >= place - 1 and spent[each]:
            spent[each] -= 1
        else:
            kept.append(each)
    return kept


def base_of(types: Sequence[str]) -> str:
    """A name for a block of operators of these types, in the order of computing.

    >>> base_of(["Conv", "Relu", "Conv", "Relu", "Conv", "Add", "Relu"]), base_of(["Conv", "bias", "Relu"])
    ('bottleneck', 'conv-relu')
    >>> base_of(["LayerNormalization", "MatMul", "Softmax", "MatMul", "Add", "Gemm", "Gelu", "Gemm"])
    'attention-mlp'
    >>> base_of(["Mul", "Sin", "Mul"]), base_of(["Identity", "Mul", "Identity"]), base_of(["MatMul", "bias"])
    ('mul-sin', 'mul', 'linear')
    """
    words = words_of([name for name in types if base_name(name) not in HANDED_ON] or types)
    counts = Counter(words)
    distinct = list(dict.fromkeys(words))
    found = structures(counts)
    if found and (len(distinct) > MOST_WORDS or found[0] not in ("conv", "linear", "norm-linear")):
        return "-".join(found)
    if len(distinct) <= MOST_WORDS:
        return "-".join(distinct)
    if counts["norm"] or {"reducemean", "sqrt"} <= set(counts):
        return "norm"
    if sum(counts[each] for each in SHAPES) == counts.total():
        return "shape"
    return "-".join(sorted(counts, key=lambda each: (-counts[each], each))[:2])


def structures(counts: Counter[str]) -> list[str]:
    """Known structures among so many operators of each word."""

    def number(words: set[str]) -> int:
        return sum(counts[each] for each in words)

    found: list[str] = []
    products, convolutions = number(PRODUCTS), counts["conv"]
    gated = number(POOLS) and number(GATES) and counts["mul"]
    if gated and products + convolutions in (2, 3) and not counts["add"] and counts.total() <= MOST_EXCITE:
        return ["squeeze-excite"]
    recurrent = number(RECURRENT) or (counts["sigmoid"] > 1 and counts["tanh"] and counts["mul"] > 1)
    if (counts["softmax"] and products >= 2) or counts["attention"]:
        found.append("attention")
        products -= 2 if counts["softmax"] else 0
    if convolutions > 1 and counts["add"]:
        found.append("bottleneck" if convolutions in (3, 4) else "residual")
    elif convolutions and counts["add"] and len(counts) > MOST_WORDS:
        found.append("residual")
    elif convolutions > 1 and (counts["concat"] or counts["cat"]):
        found.append("inception" if convolutions > 2 else "dense")
    elif convolutions:
        found.append("conv")
    elif products >= 2 and number(ACTIVATIONS) and not recurrent:
        found.append("mlp")
    elif products == 1 and not found:
        found.append("norm-linear" if counts["norm"] else "linear")
    if recurrent:
        found.append("recurrent")
    return found


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


def renamed(given: list[str], names: Mapping[str, str]) -> list[str]:
    """The names, some of them replaced."""
    if unknown := sorted(set(names) - set(given)):
        raise InputError(
            f"There is no block {unknown[0]!r} to rename; take the names from the list of blocks."
        )
    result = [names.get(name, name) for name in given]
    twice = sorted({name for name in result if result.count(name) > 1}) if names else []
    if twice:
        raise InputError(f"Two blocks would be named {twice[0]!r}; give each a name of its own.")
    return result
