"""Builds the core with the address and undefined-behaviour sanitizers and runs its tests on that build.

Run: make test-sanitize (that is, python -m tests.native.sanitize)
"""

import os
import shutil
import subprocess
import sys
from pathlib import Path

ROOT = Path(__file__).parents[2]
BUILD = ROOT / "build" / "sanitize"


def runtime(name: str) -> str:
    """Path of a sanitizer's runtime library, which Python itself was not linked with."""
    compiler = os.environ.get("CXX", "g++")
    return subprocess.run(
        [compiler, f"-print-file-name={name}"], capture_output=True, text=True, check=True
    ).stdout.strip()


def main() -> int:
    scripts = Path(sys.executable).parent
    subprocess.run(
        [
            scripts / "cmake",
            *("-S", ROOT, "-B", BUILD, "-G", "Ninja"),
            f"-DCMAKE_MAKE_PROGRAM={scripts / 'ninja'}",
            f"-DPython_EXECUTABLE={sys.executable}",
            "-DGRADE_SANITIZE=ON",
            "-DCMAKE_BUILD_TYPE=Debug",
        ],
        check=True,
    )
    subprocess.run([scripts / "cmake", "--build", BUILD], check=True)
    # A copy of the package around the sanitized core, so that the installed one stays as it is.
    package = BUILD / "package"
    shutil.rmtree(package, ignore_errors=True)
    shutil.copytree(ROOT / "src" / "grade", package / "grade", ignore=shutil.ignore_patterns("__pycache__"))
    for library in BUILD.glob("_core*.so"):
        shutil.copy(library, package / "grade")
    environment = {
        **os.environ,
        "LD_PRELOAD": f"{runtime('libasan.so')} {runtime('libubsan.so')}",
        # Python frees little at exit on purpose; leaks are not what is looked for here.
        "ASAN_OPTIONS": "detect_leaks=0:halt_on_error=1",
        "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
        "GRADE_SANITIZED_PACKAGE": str(package),
    }
    tests = ["tests/native", "tests/verify/test_counting.py"]
    tests += map(str, sorted((ROOT / "tests" / "sampling").glob("test_*.py")))
    return subprocess.run(
        [
            sys.executable,
            "-m",
            "tests.native.sanitized",
            "-q",
            "-m",
            "not slow",
            "-p",
            "no:cacheprovider",
            *tests,
        ],
        env=environment,
        cwd=ROOT,
    ).returncode


if __name__ == "__main__":
    sys.exit(main())
