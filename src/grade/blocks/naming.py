"""Readable names for blocks, from the operators inside. A block is named after a known structure (attention,
bottleneck, mlp), else after its most frequent operators. Letters distinguish blocks of the same name, the one that
saves most first.
"""

import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence

from grade.blocks.grammar import base_name
from grade.errors import InputError

PRODUCTS = {
    "matmul",
    "gemm",
    "linear",
    "addmm",
    "bmm",
    "baddbmm",
    "einsum",
    "mm",
    "matmulnbits",
    "fusedmatmul",
}
CONVOLUTIONS = {
    "conv",
    "convtranspose",
    "conv1d",
    "conv2d",
    "conv3d",
    "convolution",
    "fusedconv",
    "convinteger",
}
ACTIVATIONS = {
    "relu",
    "gelu",
    "erf",
    "silu",
    "tanh",
    "fastgelu",
    "quickgelu",
    "leakyrelu",
    "hardswish",
    "elu",
    "clip",
}
NORMS = {"layernormalization", "batchnormalization", "groupnorm", "layer_norm", "batch_norm", "rmsnorm"}
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
HANDED_ON = {"identity", "dropout"}


def base_of(types: Iterable[str]) -> str:
    """A name for a block of operators of these types.

    >>> base_of(["Conv", "Relu", "Conv", "Relu", "Conv", "Add", "Relu"])
    'bottleneck'
    >>> base_of(["LayerNormalization", "MatMul", "Softmax", "MatMul", "Add", "Gemm", "Gelu", "Gemm"])
    'attention-mlp'
    >>> base_of(["Mul", "Sin", "Mul"]), base_of(["Identity", "Mul", "Identity"])
    ('mul-sin', 'mul')
    """
    counts = Counter(base_name(name) for name in types)
    if set(counts) - HANDED_ON:
        counts = Counter({name: count for name, count in counts.items() if name not in HANDED_ON})

    def number(words: set[str]) -> int:
        return sum(counts[word] for word in words)

    found: list[str] = []
    products, convolutions = number(PRODUCTS), number(CONVOLUTIONS)
    if (counts["softmax"] and products >= 2) or any("attention" in word for word in counts):
        found.append("attention")
        products -= 2 if counts["softmax"] else 0
    if convolutions:
        if counts["add"]:
            found.append("bottleneck" if convolutions in (3, 4) else "residual")
        elif counts["concat"] or counts["cat"]:
            found.append("inception" if convolutions > 2 else "dense")
        else:
            found.append("conv")
    elif products >= 2 and number(ACTIVATIONS):
        found.append("mlp")
    elif products == 1 and not found:
        found.append("norm-linear" if number(NORMS) else "linear")
    if number(RECURRENT):
        found.append("recurrent")
    if not found:
        if number(NORMS) or {"reducemean", "sqrt"} <= set(counts):
            found.append("norm")
        elif number(SHAPES) == counts.total():
            found.append("shape")
        elif counts["sigmoid"] and counts["mul"]:
            found.append("swish")
        elif counts["erf"]:
            found.append("gelu")
        else:
            common = sorted(counts, key=lambda word: (-counts[word], word))[:2]
            found += [re.sub(r"[^a-z0-9_]", "", word) or "block" for word in common]
    return "-".join(found)


def names(types: Sequence[Iterable[str]]) -> list[str]:
    """Distinct names of several blocks, the most important one first.

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
