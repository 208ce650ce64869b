"""Runs pytest on the package that `tests.native.sanitize` built, instead of the installed one."""

import os
import sys

import pytest

if __name__ == "__main__":
    package = os.environ["GRADE_SANITIZED_PACKAGE"]
    # An editable install puts its own finder first: it must not answer for `grade` here.
    sys.meta_path = [finder for finder in sys.meta_path if "ScikitBuild" not in type(finder).__name__]
    sys.path.insert(0, package)
    import grade._core

    assert str(grade._core.__file__).startswith(package), grade._core.__file__
    sys.exit(pytest.main(sys.argv[1:]))
