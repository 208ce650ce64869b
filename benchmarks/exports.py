"""Whether exported parts of real models compute what the models compute.

Run: python benchmarks/exports.py [FILE.onnx ...]      (about a minute of processor time for onnx's light models)

Each model runs once in onnxruntime, without optimisation, on one random input, and all tensors of its main graph are
kept. Random connected parts of 3 to 8 operators are then exported both ways, as `grade occurrences --to onnx` and
`grade export --to pytorch` do, and run on the same tensors. ``same`` are parts whose every output deviates by less than
1e-4 of its largest value, integers and booleans by nothing. Parts that reach into a body of If or Loop, or end at a
tensor of unknown rank, are refused; operators without a counterpart in PyTorch become placeholders, and are not run.

The results are of onnx's light models and of the ONNX files in the wheels of rapidocr 3.10, silero_vad 6.2 and
magika 1.0 (`pip download --no-deps`, unpacked). Writes benchmarks/results/exports.json and .md; models that a call
does not name keep their rows.
"""

import json
import sys
import tempfile
from collections import Counter
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[1]))

from tests.export.real_models import RealModel
from tests.onnx_models import LIGHT

from grade.errors import InputError
from grade.sources import load

SIZES, EACH = range(3, 9), 3  # operators of a part, and parts of each size
CLOSE = 1e-4
OUT = Path(__file__).parent / "results"
HEAD = """# Exported parts of real models

`python benchmarks/exports.py FILE.onnx ...`: random connected parts of 3 to 8 operators of the main graph, drawn with
repetition (that of silero_vad has two operators only, so its parts are one), exported and run on the tensors of the
model in onnxruntime. Same: all outputs within 1e-4 of their largest value. Placeholder: an operator has no counterpart
in PyTorch. Refused: the part is no model of its own, and the export says why. Deviation: the largest, relative to the
largest value of an output.

| model | operators | parts | same as ONNX | same as PyTorch | placeholder | refused | deviation |
|---|---|---|---|---|---|---|---|
"""
COLUMNS = ("operators", "parts", "onnx", "pytorch", "placeholder", "refused")


def measure(path: Path, folder: Path) -> dict[str, Any]:
    """The numbers of one model."""
    graphs = load(path)
    model = RealModel(path, graphs)
    counts, worst = Counter[str](), 0.0
    for size in SIZES:
        for number, nodes in enumerate(model.occurrences(size, EACH)):
            counts["parts"] += 1
            try:
                deviation = model.check_onnx(nodes, values=bool(number % 2))
            except InputError:
                counts["refused"] += 1
                continue
            counts["onnx"] += deviation < CLOSE
            worst = max(worst, deviation)
            deviation_of_torch = model.check_torch(nodes, folder)
            if deviation_of_torch is None:
                counts["placeholder"] += 1
                continue
            counts["pytorch"] += deviation_of_torch < CLOSE
            worst = max(worst, deviation_of_torch)
    numbers = {"operators": graphs.nodes, **counts}
    return {**{name: numbers.get(name, 0) for name in COLUMNS}, "deviation": worst}


def main(files: list[Path]) -> None:
    store = OUT / "exports.json"
    for path in files:
        with tempfile.TemporaryDirectory() as folder:
            found = measure(path, Path(folder))
        results = json.loads(store.read_text()) if store.exists() else {}
        results[path.stem] = found
        store.write_text(json.dumps(dict(sorted(results.items())), indent=1) + "\n")
        print(path.stem, found, flush=True)
    results = json.loads(store.read_text())
    total = {name: sum(found[name] for found in results.values()) for name in COLUMNS}
    total["deviation"] = max(found["deviation"] for found in results.values())
    rows = [
        f"| {name} | " + " | ".join(f"{found[key]:,}" for key in COLUMNS) + f" | {found['deviation']:.0e} |"
        for name, found in [*results.items(), (f"all {len(results)}", total)]
    ]
    (OUT / "exports.md").write_text(HEAD + "\n".join(rows) + "\n")


if __name__ == "__main__":
    main([Path(argument) for argument in sys.argv[1:]] or LIGHT)
