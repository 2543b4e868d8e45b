# Everything runs in .venv; a stamp remembers what is installed, so a second call does not reinstall.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

.PHONY: demo test check wheel minimum format bench results clean

demo: $(VENV)/.demo
	$(BIN)/rungwise demo

test: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2 --dist loadfile --cov --cov-report=term

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/zizmor --offline --quiet .github

# The wheel in a clean environment, and the same with the oldest base dependencies.
wheel: $(VENV)/.dev
	$(BIN)/python scripts/check_wheel.py

minimum: $(VENV)/.dev
	$(BIN)/python scripts/check_wheel.py --minimum

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

bench: $(VENV)/.base
	$(BIN)/python perf/engine.py

# docs/results.md, and the files of the report beside it in results/; half an hour on two cores.
results: $(VENV)/.dev
	$(BIN)/rungwise reproduce all bo --out results
	cp results/results.md docs/results.md

clean:
	rm -rf $(VENV)

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.base: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/.demo: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[demo]'
	touch $@ $(VENV)/.base

# PyTorch first and by its version: a machine without a GPU may hold a build of it without CUDA.
$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	touch $@ $(VENV)/.base $(VENV)/.demo
