"""Builds the core with sanitizers and runs tests of native code on that build.

Run: make test-sanitize (that is, python -m tests.native.sanitize [memory|threads])

memory: out-of-bounds reads and writes, use after free, undefined behaviour, in the tests of native, search and verify.
threads: data races, in the tests that run every kernel on several threads.
"""

import os
import shutil
import subprocess
import sys
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parents[2]
MEMORY_TESTS = [
    *("tests/native", "tests/sampling/test_census.py", "tests/sampling/test_draws.py"),
    *("tests/search/test_beam.py", "tests/search/test_constraints.py", "tests/search/test_supports.py"),
    *("tests/search/test_triples.py", "tests/search/test_complete.py"),
    *("tests/search/test_fusible.py", "tests/search/test_existence.py"),
    *("tests/verify/test_counting.py", "tests/verify/test_querying.py"),
    *("tests/blocks/test_identity.py", "tests/significance/test_features.py"),
    *("tests/significance/test_null_models.py", "tests/graphs/test_in_pieces.py"),
]


@dataclass(frozen=True)
class Kind:
    """A build with sanitizers, and what runs on it."""

    flags: str  # of the compiler's -fsanitize
    libraries: tuple[str, ...]  # run-time libraries, which Python itself was not linked with
    options: dict[str, str]
    tests: list[str]
    command: tuple[str, ...] = ()


KINDS = {
    "memory": Kind(
        "address,undefined",
        ("libasan.so", "libubsan.so"),
        # Python frees little at exit on purpose; leaks are not what is looked for here.
        {
            "ASAN_OPTIONS": "detect_leaks=0:halt_on_error=1",
            "UBSAN_OPTIONS": "halt_on_error=1:print_stacktrace=1",
        },
        MEMORY_TESTS,
    ),
    "threads": Kind(
        "thread",
        ("libtsan.so",),
        # Python and NumPy are not instrumented: only what the core does is judged.
        {"TSAN_OPTIONS": "halt_on_error=1:second_deadlock_stack=1:ignore_noninstrumented_modules=1"},
        ["tests/native/test_threads.py"],
        ("setarch", "-R"),  # the sanitizer's map of the memory does not fit every random layout
    ),
}


def built(name: str, kind: Kind) -> Path:
    """A copy of the package around a sanitized core, so that the installed one stays as it is."""
    scripts, build = Path(sys.executable).parent, ROOT / "build" / f"sanitize-{name}"
    subprocess.run(
        [
            scripts / "cmake",
            *("-S", ROOT, "-B", build, "-G", "Ninja"),
            f"-DCMAKE_MAKE_PROGRAM={scripts / 'ninja'}",
            f"-DPython_EXECUTABLE={sys.executable}",
            f"-DGRADE_SANITIZE={kind.flags}",
            "-DCMAKE_BUILD_TYPE=Debug",
        ],
        check=True,
        stdout=subprocess.DEVNULL,
    )
    subprocess.run([scripts / "cmake", "--build", build], check=True)
    package = build / "package"
    shutil.rmtree(package, ignore_errors=True)
    shutil.copytree(ROOT / "src" / "grade", package / "grade", ignore=shutil.ignore_patterns("__pycache__"))
    for library in build.glob("_core*.so"):
        shutil.copy(library, package / "grade")
    return package


def runtime(library: str) -> str:
    """Path of a sanitizer's run-time library."""
    compiler = os.environ.get("CXX", "g++")
    question = [compiler, f"-print-file-name={library}"]
    return subprocess.run(question, capture_output=True, text=True, check=True).stdout.strip()


def passes(name: str, kind: Kind) -> bool:
    environment = {
        **os.environ,
        **kind.options,
        "LD_PRELOAD": " ".join(map(runtime, kind.libraries)),
        "GRADE_SANITIZED_PACKAGE": str(built(name, kind)),
        "OPENBLAS_NUM_THREADS": "1",
    }
    pytest = [sys.executable, "-m", "tests.native.sanitized", "-q", "-x", "-m", "not slow"]
    pytest += ["-p", "no:cacheprovider", "--capture=sys", *kind.tests]
    return subprocess.run([*kind.command, *pytest], env=environment, cwd=ROOT).returncode == 0


def main() -> int:
    wanted = sys.argv[1:] or list(KINDS)
    return 0 if all(passes(name, KINDS[name]) for name in wanted) else 1


if __name__ == "__main__":
    sys.exit(main())
