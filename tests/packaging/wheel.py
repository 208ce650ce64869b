"""Builds the sdist, from it the wheel in an isolated environment, and tries the wheel in an empty environment.

Run: python -m tests.packaging.wheel (that is, make test-wheel)

The sdist must hold all that git keeps, and be enough to build the wheel. The wheel must install where there is no
compiler, and do a small job.
"""

import os
import subprocess
import sys
import tarfile
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
JOB = """
import json, subprocess, sys
from pathlib import Path
import grade, grade._core
assert Path(grade.__file__).is_relative_to(sys.prefix), grade.__file__
command = Path(sys.executable).with_name("grade")

def run(*words):
    return json.loads(subprocess.run([command, *words, "--json"], check=True, stdout=subprocess.PIPE, text=True).stdout)

census = run("census", "zoo-mini", "-k", "3")
mined = run("mine", "zoo-mini", "-k", "4", "--top", "3", "--all", "--out", "run")
assert census["instances"] == grade.census("zoo-mini", 3).instances > 0
assert len(mined["motifs"]) == 3, mined
run("report", "run")
assert Path("run/report.html").stat().st_size > 10_000
print("the wheel works:", grade.__version__, grade.__file__)
"""


def main() -> None:
    with tempfile.TemporaryDirectory(prefix="grade-wheel-") as folder:
        scratch = Path(folder)
        build = "import sys, scikit_build_core.build as b; b.build_sdist(sys.argv[1])"
        subprocess.run(
            [sys.executable, "-c", build, str(scratch)], cwd=ROOT, check=True, stdout=subprocess.DEVNULL
        )
        (sdist,) = scratch.glob("*.tar.gz")
        with tarfile.open(sdist) as archive:
            held = {name.partition("/")[2] for name in archive.getnames()}
        kept = subprocess.run(
            ["git", "ls-files"], cwd=ROOT, check=True, capture_output=True, text=True
        ).stdout
        missing = sorted(set(kept.splitlines()) - held - {".gitignore"})
        assert not missing, f"the sdist lacks {missing[:10]}"
        pip = [sys.executable, "-m", "pip", "--quiet"]
        subprocess.run([*pip, "wheel", "--no-deps", "-w", folder, str(sdist)], cwd=scratch, check=True)
        (wheel,) = scratch.glob("*.whl")
        environment = scratch / "environment"
        subprocess.run([sys.executable, "-m", "venv", "--without-pip", environment], check=True)
        python = environment / "bin" / "python"
        tools = {**os.environ, "CC": "false", "CXX": "false", "PATH": str(environment / "bin")}
        install = [*pip, "--python", str(python), "install", "-c", str(ROOT / "constraints.txt"), str(wheel)]
        subprocess.run(install, check=True, env=tools)
        tools["XDG_CACHE_HOME"] = str(scratch / "cache")
        subprocess.run([python, "-I", "-c", JOB], cwd=scratch, check=True, env=tools)


if __name__ == "__main__":
    main()
