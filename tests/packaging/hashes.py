"""Writes constraints-hashes.txt: every pinned package with the SHA-256 of the file that pip chooses here.

Run: python -m tests.packaging.hashes (that is, make hashes)

The files are those for this system and this version of Python: Linux on x86-64 and CPython 3.11 for the list in the
repository. On another system run this first, and look at what it chooses.
"""

import json
import subprocess
import sys
import tempfile
from pathlib import Path

ROOT = Path(__file__).parents[2]
PINNED, HASHED = ROOT / "constraints.txt", ROOT / "constraints-hashes.txt"
BESIDE = ("setuptools",)  # builds what comes as source only, and is pinned by nothing else


def pinned() -> list[str]:
    """The lines name==version of constraints.txt."""
    lines = (line.strip() for line in PINNED.read_text().splitlines())
    return [line for line in lines if line and not line.startswith("#")]


def main() -> None:
    with tempfile.TemporaryDirectory() as folder:
        report = Path(folder) / "report.json"
        choose = ["pip", "install", "--dry-run", "--ignore-installed", "--quiet", "--report", str(report)]
        subprocess.run([sys.executable, "-m", *choose, "-c", str(PINNED), *pinned(), *BESIDE], check=True)
        chosen = json.loads(report.read_text())["install"]
    lines = []
    for entry in chosen:
        checksum = entry["download_info"]["archive_info"]["hashes"]["sha256"]
        name, version = (entry["metadata"][key] for key in ("name", "version"))
        lines.append(f"{name}=={version} --hash=sha256:{checksum}")
    head = "# Written by 'make hashes' for Linux on x86-64 and CPython 3.11, for 'make install HASHES=1'."
    HASHED.write_text("\n".join([head, *sorted(lines, key=str.lower)]) + "\n")


if __name__ == "__main__":
    main()
