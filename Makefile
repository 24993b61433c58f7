# The four commands: make test, make lint, make dev, make bench. Each sets up what it needs in .venv.
PYTHON ?= python3
BIN := .venv/bin
SOURCES := $(shell git ls-files 'cli/*' 'encoding/*' 'properties/*' 'protocols/*' 'quorums/*' pyproject.toml)

.PHONY: test lint dev bench clean

test: .venv/installed      ## everything, the slow tests too
	$(BIN)/python -m pytest

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

dev: .venv/bin/python      ## run from the working tree; again after adding a file
	$(BIN)/pip install --quiet -e ".[test,lint]" --config-settings editable_mode=strict

bench: .venv/installed
	$(BIN)/python benchmarks/run.py

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/installed: .venv/bin/python $(SOURCES)
	rm -rf build && $(BIN)/pip install --quiet ".[test,lint]"
	touch $@

clean:
	rm -rf .venv build *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
