# Everything runs from a virtual environment that these rules set up: Python 3.11 or newer and git are all that is needed.
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
STAMP := $(VENV)/.installed

.PHONY: demo test check bench install clean

demo: install
	@$(BIN)/gitops-ds demo

test: install
	@$(BIN)/pytest --numprocesses=4 --reruns=2

check: install
	@$(BIN)/ruff format --check .
	@$(BIN)/ruff check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports

install: $(STAMP)

$(STAMP): pyproject.toml
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable '.[dev]'
	@touch $(STAMP)

bench: install
	@$(BIN)/python -m pip install --quiet --disable-pip-version-check --editable ".[bench]"
	@$(BIN)/python -m bench.run

clean:
	@rm -rf $(VENV) build dist *.egg-info .mypy_cache .ruff_cache .import_linter_cache .hypothesis
