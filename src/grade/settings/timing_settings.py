"""Timing patterns and blocks."""

from dataclasses import dataclass
from pathlib import Path

from grade.settings.parameters import Settings, argument, option, threads_option


@dataclass(frozen=True, kw_only=True)
class TimeSettings(Settings):
    """How long a pattern takes under several strategies."""

    run: Path = argument(
        "The folder of a run that 'grade mine' made, or one that 'grade blocks --out' made.", metavar="RUN"
    )
    pattern: int = option("Number of the pattern or block; 1 is the first.", "--pattern", metavar="I")
    strategies: str | None = option(
        "Some of eager, eager-nhwc, operators, hand, hand-nhwc, compiled, compiled-nhwc, ort-plain, ort, tvm-operators,"
        " tvm-hand, tvm, separated by commas; all by default.",
        "--strategies",
        default=None,
        metavar="NAMES",
    )
    device: str = option(
        "cpu, cuda, or auto: the GPU where there is one.", "--device", default="auto", metavar="NAME"
    )
    shape: str | None = option(
        "Batch, channels, height and width of example values, where no model file is at hand (1x64x56x56); an open"
        " batch of a model file takes the first number.",
        "--shape",
        default=None,
        metavar="NxCxHxW",
    )
    pattern_only: bool = option(
        "Use example shapes even if a model file with an occurrence is at hand.",
        "--pattern-only",
        default=False,
    )
    rounds: int = option(
        "Number of samples of each strategy.", "--rounds", default=20, metavar="N", least=2, most=100_000
    )
    trials: int = option(
        "Trials of TVM's tuning, for each of its strategies; 0 does not tune.",
        "--trials",
        default=0,
        metavar="N",
        least=0,
    )
    tf32: bool = option("Allow TF32 products on a GPU.", "--tf32", default=False)
    costs: Path | None = option(
        "Add the measured costs to this file (JSON), for 'grade mine --costs'.",
        "--costs",
        default=None,
        metavar="FILE",
    )
    threads: int | None = threads_option()
