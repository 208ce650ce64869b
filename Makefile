# make install | demo | test | lint | bench: each does all set-up that it needs, in .venv, and is quick when nothing changed.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
NATIVE := CMakeLists.txt $(wildcard native/*.cpp native/*.hpp)
BUILD_TOOLS := ^(scikit_build_core|nanobind|cmake|ninja|setuptools|wheel|packaging|pathspec)==
export PIP_DISABLE_PIP_VERSION_CHECK := 1

.PHONY: install demo docs test test-slow test-sanitize test-wheel fuzz hashes lint format bench clean

install: .make/installed

.make/machine:
	@test -n "$(PYTHON)" || { echo "GraDE needs Python 3.11 or newer: install python3.11, or name it with 'make PYTHON=/path/to/python3'."; exit 2; }
	@"$(PYTHON)" -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "GraDE needs Python 3.11 or newer, and $(PYTHON) is older: name another with 'make PYTHON=/path/to/python3'."; exit 2; }
	@"$(PYTHON)" -c 'import venv, ensurepip' 2>/dev/null || { echo "$(PYTHON) lacks the venv module: install it (Debian: apt-get install python3-venv)."; exit 2; }
	@command -v "$${CXX:-g++}" >/dev/null || { echo "GraDE needs a C++20 compiler: install g++ 11 or newer (Debian: apt-get install g++), or set CXX."; exit 2; }
	@mkdir -p .make && touch $@

# With HASHES=1 every download is compared with constraints-hashes.txt. setuptools and wheel build what comes as source only (pynauty).
# A torch that is not for the CPU alone needs the libraries of CUDA.
.make/tools: pyproject.toml constraints.txt | .make/machine
	@echo "Setting up $(VENV) (the first time this downloads torch and takes a few minutes) ..."
	@test -x $(BIN)/python || "$(PYTHON)" -m venv $(VENV)
ifdef HASHES
	@$(BIN)/python -m pip install --quiet --require-hashes --no-deps -r <(grep -E '$(BUILD_TOOLS)' constraints-hashes.txt)
	@$(BIN)/python -m pip install --quiet --require-hashes --no-deps --no-build-isolation -r constraints-hashes.txt
	@! $(BIN)/python -m pip show torch | grep -q '^Requires:.*cuda' || $(BIN)/python -m pip install --quiet --require-hashes --no-deps -r constraints-hashes-cuda.txt
else
	@$(BIN)/python -m pip install --quiet -c constraints.txt scikit-build-core nanobind cmake ninja setuptools wheel
endif
	@touch $@

.make/installed: .make/tools $(NATIVE)
	@echo "Building the native core ..."
	@$(BIN)/python -m pip install --quiet $(if $(HASHES),--no-deps,-c constraints.txt) --no-build-isolation -Ccmake.define.GRADE_WERROR=ON -e '.[dev]'
	@touch $@

# The main job: sample, train, search guided by the estimator, verify.
demo: install
	@$(BIN)/grade mine zoo -k 8 --contains 'Conv*' --max-in-degree 2 --max-out-degree 2 --rank-by estimator --top 20 --all --memory 2G --out demo-run
	@$(BIN)/grade report demo-run
	@echo "Open demo-run/report.html in a browser to look at them."

# The site, in site/; a page that is missing or a link that leads nowhere is an error.
docs: install
	NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet

test: install
	$(BIN)/python -m pytest -n 2 -m "not slow"

test-slow: install
	$(BIN)/python -m pytest -n 2 -m slow

# Tests of native code with the address, undefined-behaviour and thread sanitizers.
test-sanitize: install
	$(BIN)/python -m tests.native.sanitize

# Damaged files and folders, hostile arguments, Ctrl-C: minutes, the same cases for the same SEED.
CASES ?= 1000
SEED ?= 1
fuzz: install
	$(BIN)/python -m tests.fuzz --cases $(CASES) --seed $(SEED)

# The sdist, the wheel that follows from it alone, and that wheel in an empty environment without a compiler.
test-wheel: install
	$(BIN)/python -m tests.packaging.wheel

# Writes constraints-hashes.txt anew, after a change of constraints.txt.
hashes: install
	$(BIN)/python -m tests.packaging.hashes

lint: install
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

format: install
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

bench: install
	$(BIN)/python benchmarks/canonical.py
	$(BIN)/python benchmarks/census.py
	$(BIN)/python benchmarks/sampling.py
	$(BIN)/python benchmarks/verify.py

clean:
	rm -rf $(VENV) .make build
