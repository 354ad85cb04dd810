# Two commands: `make starter` bakes a first comparison, `make test` runs the tests. Both set up what they need.
PYTHON ?= python3
VENV ?= .venv
REPORTS ?= runs/reports
BIN := $(VENV)/bin

.PHONY: starter test setup

starter: setup
	$(BIN)/bakeoff doctor --fetch
	$(BIN)/bakeoff sweep sweeps/starter.yaml $(SETTINGS)
	$(BIN)/bakeoff report sweeps/starter.yaml $(SETTINGS) --out $(REPORTS)

# Tests run beside each other, so each has one thread.
test: setup
	$(BIN)/ruff check src tests benchmarks
	$(BIN)/ruff format --check src tests benchmarks
	$(BIN)/mypy
	OMP_NUM_THREADS=1 $(BIN)/pytest -n auto --dist loadfile --durations=15
	OMP_NUM_THREADS=1 $(BIN)/pytest -m slow -n 2 --dist loadfile --durations=15

setup: $(VENV)/.installed

# torch comes first and pinned, so that no other package chooses its release and build.
$(VENV)/.installed: pyproject.toml constraints.txt
	$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11) and "bakeoff needs Python 3.11 or newer: make PYTHON=python3.12 …")'
	$(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --constraint constraints.txt torch
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable '.[dev,onnx,ray]'
	@touch $@
