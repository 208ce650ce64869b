"""Columns with names as a file: .npz for numpy, .parquet for everything else."""

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import numpy as np

from grade.errors import InputError
from grade.files import whole_file, writable_target
from grade.sampling.census import import_pyarrow

SUFFIXES = (".npz", ".parquet")


def check_columns_target(path: str | os.PathLike[str]) -> str:
    """The suffix of a file that columns can be written to; worth calling before long work."""
    suffix = Path(path).suffix.lower()
    if suffix not in SUFFIXES:
        raise InputError(f"{path} must end in {' or '.join(SUFFIXES)}.")
    writable_target(path)
    if suffix == ".parquet":
        import_pyarrow()
    return suffix


def write_columns(path: str | os.PathLike[str], columns: Mapping[str, Any], facts: dict[str, Any]) -> None:
    """Write columns of one length, with facts about them as JSON, whole or not at all.

    In an .npz file each column is an array under its name, and the facts are the array ``facts``; in a .parquet file
    the facts are the metadata ``grade``.
    """
    suffix = check_columns_target(path)
    with whole_file(path) as temporary:
        if suffix == ".parquet":
            pyarrow = import_pyarrow()
            table = pyarrow.table({name: pyarrow.array(column) for name, column in columns.items()})
            table = table.replace_schema_metadata({"grade": json.dumps(facts)})
            pyarrow.parquet.write_table(table, temporary)
        else:
            with temporary.open("wb") as file:  # given a name, numpy would add .npz to one that ends in .NPZ
                arrays = {name: np.asarray(column) for name, column in columns.items()}
                np.savez_compressed(file, facts=np.array(json.dumps(facts)), **arrays)  # type: ignore[arg-type]  # numpy types keywords as bools
