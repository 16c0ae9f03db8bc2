# Everything a newcomer needs: `make demo` and `make test`. Both set up a virtual environment first.
PYTHON ?= python3
VENV   ?= .venv
BIN    := $(VENV)/bin
STAMP  := $(VENV)/.installed

.PHONY: help install test lint check coverage docs bench demo clean
help: ## list the targets
	@grep -hE '^[a-z]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 12

$(STAMP): pyproject.toml
	@$(PYTHON) -c 'import sys; sys.exit("arcfsm needs Python 3.11 or newer; this is " + sys.version.split()[0] + ". Try: make PYTHON=python3.11 …") if sys.version_info < (3, 11) else None'
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $@

install: $(STAMP) ## create the virtual environment and install arcfsm with its test tools

test: $(STAMP) ## run every test
	$(BIN)/python -m pytest -q

lint: $(STAMP) ## lint, format check, strict types and import contracts
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports

check: lint test ## lint and test

coverage: $(STAMP) ## run every test and report the lines it missed
	$(BIN)/python -m pytest -q --cov --cov-report=term-missing

docs: $(STAMP) ## write the reference pages that follow from code
	$(BIN)/python docs/generate.py

bench: $(STAMP) ## run the benchmarks; they print ratios within one run and assert nothing
	@for bench in tests/benchmarks/bench_*.py; do printf '\n== %s\n' "$$bench"; $(BIN)/python "$$bench" || exit 1; done

# The demo reads a recorded incident of a real cluster, bundled with the package.
DEMO_DIR := .demo
demo: $(STAMP) ## import a recorded incident and ask the journal what happened
	@rm -rf $(DEMO_DIR) && mkdir -p $(DEMO_DIR)
	@ARCFSM_JOURNAL="sqlite:///$(DEMO_DIR)/incident.db" $(BIN)/python docs/demo.py

clean: ## remove the virtual environment and caches
	rm -rf $(VENV) .mypy_cache .pytest_cache .ruff_cache .hypothesis .import_linter_cache .demo
