"""Writes constraints-hashes.txt: every pinned package with the SHA-256 of the file that pip chooses here.

Run: python -m tests.packaging.hashes (that is, make hashes), with pip 23.3 or newer, which looks without downloading

The files are those for this system and this version of Python: Linux on x86-64 and CPython 3.11 for the lists in the
repository. On another system run this first, and look at what it chooses. Of torch there are two: the wheel for the
CPU where pip finds one, and that of the package index, which needs the libraries in constraints-hashes-cuda.txt.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
PINNED, HASHED, CUDA = (ROOT / f"constraints{suffix}.txt" for suffix in ("", "-hashes", "-hashes-cuda"))
BESIDE = ("setuptools",)  # builds what comes as source only, and is pinned by nothing else


def pinned() -> list[str]:
    """The lines name==version of constraints.txt."""
    lines = (line.strip() for line in PINNED.read_text().splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def chosen(*requirements: str) -> dict[str, tuple[str, str]]:
    """Version and SHA-256 of what pip would install, by name."""
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        choose = ["pip", "install", "--dry-run", "--ignore-installed", "--quiet", "--report", str(report)]
        subprocess.run([sys.executable, "-m", *choose, "-c", str(PINNED), *requirements], check=True)
        found = json.loads(report.read_text())["install"]
    return {
        entry["metadata"]["name"]: (
            entry["metadata"]["version"].partition("+")[0],  # of torch without "+cpu": both wheels fit
            entry["download_info"]["archive_info"]["hashes"]["sha256"],
        )
        for entry in found
    }


def main() -> None:
    usual = {name: [*found] for name, found in chosen(*pinned(), *BESIDE).items()}
    (torch,) = (line for line in pinned() if line.startswith("torch=="))
    from_index = chosen(
        torch.replace("==", "===")
    )  # the very version: not the one for the CPU, which is "+cpu"
    if from_index["torch"][1] not in usual["torch"]:
        usual["torch"].append(from_index["torch"][1])
    libraries = {name: [*found] for name, found in from_index.items() if name not in usual}
    head = "# Written by 'make hashes' for Linux on x86-64 and CPython 3.11, for 'make install HASHES=1'."
    for path, packages, more in (
        (HASHED, usual, ""),
        (CUDA, libraries, "\n# Installed where torch is the one of the package index, which links to them."),
    ):
        lines = [
            f"{name}=={version} {' '.join(f'--hash=sha256:{checksum}' for checksum in checksums)}"
            for name, (version, *checksums) in packages.items()
        ]
        path.write_text("\n".join([head + more, *sorted(lines, key=str.lower)]) + "\n")


if __name__ == "__main__":
    main()
