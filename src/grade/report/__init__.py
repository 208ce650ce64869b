"""Pages, pictures and tables. The package can be called: ``grade.report("run")`` writes the page of a run."""

import sys
from pathlib import Path

from grade.callable_module import CallableModule


def report(run: str | Path, other: str | Path | None = None, out: str | Path | None = None) -> Path:
    """Write the page of a run, one self-contained HTML file; of two runs, a comparison.

    Parameters
    ----------
    run, other
        folders that `grade.mine` made
    out
        the file to write; ``report.html`` in the folder of the run, or ``comparison.html`` here, when left out

    Examples
    --------
    >>> import tempfile
    >>> from grade import mine, report
    >>> folder = Path(tempfile.mkdtemp()) / "run"
    >>> _ = mine("zoo-mini", k=3, top=5, out=folder)
    >>> report(folder).name
    'report.html'
    """
    from grade.report.comparison import write_comparison
    from grade.report.page import write_page

    if other is not None:
        place = Path(out or "comparison.html")
        write_comparison(Path(run), Path(other), place)
    else:
        place = Path(out or Path(run) / "report.html")
        write_page(Path(run), place)
    return place


CallableModule.make(sys.modules[__name__], report)
