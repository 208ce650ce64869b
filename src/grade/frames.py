"""Tables for other libraries: columns as a pandas.DataFrame or a pyarrow.Table, if those are installed."""

from collections.abc import Mapping, Sequence
from typing import Any

from grade.errors import InputError


def to_pandas(columns: Mapping[str, Sequence[Any]]) -> Any:
    """The columns as a pandas.DataFrame."""
    try:
        import pandas
    except ImportError:
        raise InputError(
            "Data frames need pandas, which is not installed; run 'pip install pandas'."
        ) from None
    return pandas.DataFrame(columns)


def to_arrow(columns: Mapping[str, Sequence[Any]]) -> Any:
    """The columns as a pyarrow.Table."""
    try:
        import pyarrow
    except ImportError:
        raise InputError(
            "Arrow tables need pyarrow, which is not installed; run 'pip install grade-motifs[parquet]'."
        ) from None
    return pyarrow.table(dict(columns))
