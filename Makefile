# The four commands: make test, make lint, make dev, make bench. Each sets up what it needs in .venv; make test also
# installs Debian's Chromium and a Java if there is none.
PYTHON ?= python3
BIN := .venv/bin
FOLDERS := cli encoding properties protocols quorums sweeps
SOURCES := $(shell git ls-files $(FOLDERS:%='%/*') pyproject.toml)

.PHONY: test lint dev bench browser java clean

test: .venv/installed browser java  ## everything, the slow tests too
	$(BIN)/python -m pytest

lint: .venv/installed
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	rm -rf .venv/types && mkdir -p .venv/types/fencepost && ln -s $(FOLDERS:%=$(CURDIR)/%) .venv/types/fencepost/
	MYPYPATH=.venv/types:tests:benchmarks $(BIN)/mypy .venv/types/fencepost tests benchmarks examples

dev: .venv/bin/python      ## run from the working tree; again after adding a file
	$(BIN)/pip install --quiet -e ".[test,lint,spark]" --config-settings editable_mode=strict

bench: .venv/installed
	$(BIN)/python benchmarks/run.py

browser:                   ## Chromium and its driver, in which the page of a trace is tested
	command -v chromium && command -v chromedriver \
	  || { apt-get update && apt-get install --yes --no-install-recommends chromium chromium-driver; }

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/installed: .venv/bin/python $(SOURCES)
	rm -rf build && $(BIN)/pip install --quiet ".[test,lint,spark]"
	touch $@

java:                      ## for the tests of sweeps, which run on Spark; without it they are skipped
	@command -v java >/dev/null || { apt-get update -qq && apt-get install -qq -y openjdk-17-jre-headless; } \
		|| echo "no Java, and it cannot be installed here: the tests of sweeps on Spark are skipped"

clean:
	rm -rf .venv build *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
