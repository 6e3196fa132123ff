# Two commands do all set-up on a fresh machine: `make demo` and `make test`.
PYTHON ?= $(firstword $(foreach p,python3 python3.13 python3.12 python3.11,\
	$(shell $(p) -c 'import sys; print("$(p)") if sys.version_info >= (3, 11) else None' 2>/dev/null)))
VENV := .venv
BIN := $(VENV)/bin
PYTEST := $(BIN)/python -m pytest -n $(shell expr 1 + `nproc`) --maxprocesses 4 --dist worksteal # one more than cores: many wait
PIP := $(BIN)/python -m pip --disable-pip-version-check --quiet

export PYTHONDONTWRITEBYTECODE = # else each of the tests' processes compiles Sonde again

.PHONY: demo test docs chromium lint format bench arena soak clean

demo: $(VENV)/demo.stamp  ## tune a scikit-learn model, write a report in out/; run again to resume
	$(BIN)/python examples/demo.py

test: chromium lint  ## lint, types, all tests: the core's without JAX, those of the extra with it
	$(PYTEST) --jax without
	$(PYTEST) --jax only

chromium:  # the browser in which tests look at the dashboard and at reports; without it they fail, and the others run
	@test -x "$$CHROMIUM" || which chromium || which chromium-browser || which google-chrome || \
	{ test "$$(id -u)" = 0 && apt-get update -qq && apt-get install -qq -y chromium; } || \
	echo "There is no Chromium, so tests of the dashboard will fail. Run: sudo apt-get install chromium; or: make test CHROMIUM=PATH"

lint: $(VENV)/test.stamp
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports --no-logo
	$(BIN)/codespell README.md CHANGELOG.md CONTRIBUTING.md mkdocs.yml docs website examples src

format: $(VENV)/test.stamp
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

docs: $(VENV)/test.stamp  ## the documentation as a site in out/site, which needs no network
	$(BIN)/mkdocs build --quiet
	@echo "the documentation is in out/site/index.html"

bench: $(VENV)/bench.stamp  ## storage and start-up times beside Optuna's; minutes
	$(BIN)/python -m benchmarks.foundation

arena: $(VENV)/bench.stamp  ## Sonde beside its peers, by suite and by dimension: makes the runs that are missing, for hours, and prints the tables
	PYTHONWARNINGS=ignore nice $(BIN)/python -m benchmarks.arena.plan

soak: $(VENV)/test.stamp  ## 20,000 tells with random kills, 1,000 studies, 500 trials of auto; ten minutes
	$(BIN)/python -m benchmarks.soak

clean:
	rm -rf $(VENV) out .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed (make PYTHON=/path/to/python3.11)"; exit 1; }
	@$(PYTHON) -c 'import ensurepip, venv' || { echo "Python's venv is missing; on Debian: apt install python3-venv"; exit 1; }
	$(PYTHON) -m venv $(VENV)

$(VENV)/demo.stamp: $(BIN)/python pyproject.toml
	$(PIP) install --editable ".[plots]" "scikit-learn>=1.5"
	touch $@

$(VENV)/groups.stamp: $(BIN)/python
	$(PIP) install --upgrade "pip>=25.1" # older ones do not know dependency groups
	touch $@

$(VENV)/test.stamp: $(VENV)/groups.stamp pyproject.toml
	$(PIP) install --editable ".[all]" --group lint --group test
	$(PIP) install --no-deps --upgrade --target $(VENV)/older optuna==4.9.0 scikit-learn==1.7.2 xgboost-cpu==3.0.0 \
		lightgbm==4.5.0 keras==3.8.0 lightning==2.4.0 # integrations work with these and with the newest
	touch $@

$(VENV)/bench.stamp: $(VENV)/groups.stamp pyproject.toml
	$(PIP) install --editable ".[all]" --group bench
	touch $@
