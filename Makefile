# Everything runs in .venv; a stamp remembers what is installed, so a second call does not reinstall.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin

# What a change in the pure ring needs: it, the oracles it is compared with, and the layers.
QUICK := $(addprefix tests/, core rankings schedulers searchers space views test_against_oracle.py \
	test_boundaries.py test_counterfactual.py test_driver.py test_formatting.py test_layers.py \
	test_oracle_itself.py test_policy.py test_public.py test_readers.py test_simulation.py)

.PHONY: frontier demo test coverage test-integrations quick check docs wheel minimum format bench results clean

demo: $(VENV)/.demo
	$(BIN)/rungwise demo

# Where compiled files are switched off, every process that a test starts would compile again.
test coverage quick: export PYTHONDONTWRITEBYTECODE =

# Five processes for two cores: many tests wait for processes, browsers and clusters.
TESTS := -m pytest -n 5 --dist loadfile --no-loadscope-reorder

test: $(VENV)/.dev
	$(BIN)/python $(TESTS)

# All tests, and what they run of the package, in the processes that they start as well.
coverage: $(VENV)/.dev
	$(BIN)/python $(TESTS) --cov --cov-report=term

# Against hosts that are too large for make test; a browser (chromium) must be there for one of them.
test-integrations: $(VENV)/.integrations
	$(BIN)/python -m pytest -m integrations tests

quick: $(VENV)/.dev
	$(BIN)/python -m pytest -n 2 -m 'not slow' $(QUICK) --ignore tests/searchers/test_optuna.py

check: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/zizmor --offline --quiet .github

# The manual, in site/. Strict: a link that leads nowhere is an error.
docs: $(VENV)/.dev
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet

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

# docs/results.md and docs/results/, and the files of the report in results/; minutes on two cores.
frontier: $(VENV)/.dev
	$(BIN)/rungwise reproduce frontier $(if $(CURVES),--curves $(CURVES)) --seeds 10 --out results
	cp results/frontier.md results/frontier.svg docs/

results: $(VENV)/.dev
	$(BIN)/rungwise reproduce all bo --out results
	cp results/results.md docs/results.md
	rm -rf docs/results && cp -r results/results docs/results

clean:
	rm -rf $(VENV) site

$(BIN)/python:
	$(PYTHON) -m venv $(VENV)

$(VENV)/.base: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable .
	touch $@

$(VENV)/.demo: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[demo]'
	touch $@ $(VENV)/.base

# PyTorch first and by its version: a machine without a GPU may hold a build of it without CUDA.
# XGBoost without what it brings for GPUs, which is 700 MB.
$(VENV)/.dev: pyproject.toml | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check torch==2.13.0
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps 'xgboost>=1.6'
	touch $@ $(VENV)/.base $(VENV)/.demo

$(VENV)/.integrations: pyproject.toml $(VENV)/.dev | $(BIN)/python
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[integrations-dev]' torch==2.13.0
	touch $@
