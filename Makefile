# Every target says what it does: `make help`. The steps themselves are in tools/.

PYTHON3 ?= python3
VENV    := .venv
PY      := $(VENV)/bin/python
JOBS    ?= 2
# The other Python minors to test on, such as "3.11 3.12"; empty: none.
PYTHONS ?= $(shell $(PYTHON3) tools/pythons.py others)

export JOBS

.DEFAULT_GOAL := help
.PHONY: help setup test check format bench-core demo soak-lang kill-loop poison sim crash clean

help: ## show this list
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  make %-13s %s\n", $$1, $$2}' Makefile

setup: $(VENV)/.stamp ## create .venv and install Perdure with its tools (again only when pyproject.toml changes)

$(VENV)/.stamp: pyproject.toml
	@$(PYTHON3) tools/pythons.py venv $(VENV) dev

test: setup ## run all tests, then the suites again on each other Python; PYTHONS="" to skip those
	@$(PY) tools/check.py test $(PYTHONS)

check: setup ## everything that must hold: format, lint, types, tidy, tests, docs; stops at the first red
	@$(PY) tools/check.py check $(PYTHONS)

format: setup ## put every file into its one form, and repair what lint can repair
	@$(PY) -m ruff check --fix-only --quiet .
	@$(PY) -m ruff format .

bench-core: setup ## measure the core against plain asyncio
	@$(PY) -m bench.core

demo: setup ## show a run that dies and goes on
	@$(PY) examples/demo.py

soak-lang: setup ## compare many generated programs with asyncio, restored at every fact (hours; PERDURE_PROGRAMS=200000)
	@PERDURE_PROGRAMS=$${PERDURE_PROGRAMS:-200000} PERDURE_RESTORED=1 \
	    $(PY) -m pytest tests/differential/test_generated.py -n $(JOBS) --timeout=0

kill-loop: setup ## kill engines at random instants (long; CYCLES=300 SEED=1)
	@$(PY) -m tests.real.kill_loop $${CYCLES:-300} $${SEED:-1}

poison: setup ## take each poisonous action on each kind of worker, and measure all others (long)
	@$(PY) -m tests.real.poison $(POISON)

sim: setup ## simulate two nodes over one store under every fault (long; PERDURE_SEEDS=20000)
	@PERDURE_SEEDS=$${PERDURE_SEEDS:-20000} \
	    $(PY) -m pytest -q tests/sim/test_simulation.py -n $(JOBS) --timeout=0

crash: setup ## crash at every boundary and every pair, fail every call of SQLite (half an hour)
	@$(PY) -m tests.crash.everywhere

clean: ## remove environments, caches and builds
	@rm -rf .venv .venv-* build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
	@find . -name __pycache__ -type d -not -path './.git/*' -prune -exec rm -rf {} +
