# `make help` lists the commands. Each sets up what it needs in .venv; make test and make test-long also install
# Debian's Chromium and a Java if there is none. tests/README.md says which test is where.
PYTHON ?= python3
PYTHONS ?= 3.11 3.12 3.13
BIN := .venv/bin
FOLDERS := advice cli encoding explore properties protocols quorums realcode sweeps
TOOLS := --group test --group lint --group site
SOURCES := $(shell git ls-files 'api/*' $(FOLDERS:%='%/*') pyproject.toml)

# The collection of the tests takes half the time if Python may keep what it compiled.
unexport PYTHONDONTWRITEBYTECODE

.DEFAULT_GOAL := help
.PHONY: help quick test test-long test-versions test-bookkeeper lint dev site dist bench corpus sweep-advice formats mutants mutants-real durations browser asm java clean

help:                      ## these commands
	@awk -F ':[^#]*## ' '/^[a-z-]+:.*## / { printf "%-16s %s\n", $$1, $$2 }' Makefile

quick: .venv/installed     ## a minute: after each change
	$(BIN)/python -m pytest -m "not slow and not long"

test: .venv/installed browser java  ## some minutes: before a change is shared
	$(BIN)/python -m pytest -m "not long"

test-long: .venv/installed browser java  ## what make test leaves out: before a release
	$(BIN)/python -m pytest -m long

test-bookkeeper: .venv/installed    ## on the real BookKeeper: make test-bookkeeper LIB=lib folder(s), separated by :
	FENCEPOST_BOOKKEEPER=$(LIB) $(BIN)/python -m pytest tests/unit/realcode -n0

test-versions: .venv/bin/python  ## the quick tests on each Python, with the lowest and the newest versions of what it needs; half an hour
	$(BIN)/pip install --quiet "uv>=0.8,<1"
	for python in $(PYTHONS); do for versions in lowest-direct highest; do \
	    rm -rf build && $(BIN)/uv venv --quiet --clear --python $$python .venv/$$python-$$versions \
	    && $(BIN)/uv pip install --quiet --python .venv/$$python-$$versions --resolution $$versions \
	       --only-binary :all: --no-binary pyspark --no-binary fencepost --group test --group lint ".[spark]" \
	    && .venv/$$python-$$versions/bin/python -m pytest -q -m "not slow and not long" || exit 1; \
	done; done

lint: .venv/installed      ## ruff, the formatter's check, mypy strict, links that lead nowhere
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	rm -rf .venv/types && mkdir -p .venv/types/fencepost && ln -s $(CURDIR)/api/* $(FOLDERS:%=$(CURDIR)/%) .venv/types/fencepost/
	MYPYPATH=.venv/types:tests:benchmarks $(BIN)/mypy .venv/types/fencepost tests benchmarks examples
	PYTHONPATH=tests $(BIN)/python -m support.links

dev: .venv/bin/python      ## run from the working tree; again after adding a file
	$(BIN)/pip install --quiet "pip>=25.1"
	$(BIN)/pip install --quiet -e ".[spark]" $(TOOLS) --config-settings editable_mode=strict

site: .venv/installed      ## the pages of docs/ as a site: open site/index.html, or serve the folder to search in it
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

dist: .venv/bin/python     ## wheel and sdist in dist/, checked in a new environment without the clone; minutes; Java 17
	$(BIN)/pip install --quiet "build>=1.2,<2" "twine>=6,<8"
	rm -rf dist *.egg-info
	$(BIN)/python -m build --outdir dist
	$(BIN)/python -m twine check --strict dist/*
	PYTHONPATH=tests $(BIN)/python -m support.distribution dist/*.whl

bench: .venv/installed     ## the default check beside each engine alone; docs/performance.md has the table
	$(BIN)/python benchmarks/order.py

corpus: .venv/installed    ## the table of docs/corpus.md: other people's protocols; half an hour
	$(BIN)/python benchmarks/corpus.py

sweep-advice: .venv/installed  ## the questions that prove the conditions of advise and are not answered yet; hours
	nice -n 10 $(BIN)/python benchmarks/sweep_advice.py $(if $(ROWS),--rows $(ROWS))

formats: dev               ## the JSON Schemas in docs/formats/, after a change of a document
	PYTHONPATH=tests $(BIN)/python -m support.formats

mutants: dev               ## changes of the engine that no quick test notices; hours
	nice -n 10 $(BIN)/python benchmarks/mutants.py --results .venv/mutants.jsonl

mutants-real: dev asm      ## planted mistakes that conformance runs notice: make mutants-real LIB=lib folder [RUNS=100 SEED=1 ONLY=names]; an hour or more
	nice -n 10 $(BIN)/python benchmarks/mutants_real.py --bookkeeper $(LIB) --runs $(or $(RUNS),100) --seed $(or $(SEED),1) $(if $(ONLY),--only $(ONLY)) \
	  --results .venv/mutants-real.jsonl --output docs/generated/mutants-real.md

durations: .venv/installed browser java  ## the seconds of each case that is not long, recorded in tests/durations.json; an hour or more
	$(BIN)/python -m pytest -m "not long" -n0 --record-durations

browser:                   ## Chromium and its driver, in which the page of a trace is tested
	command -v chromium && command -v chromedriver \
	  || { apt-get update && apt-get install --yes --no-install-recommends chromium chromium-driver; }

.venv/bin/python:
	$(PYTHON) -m venv .venv

.venv/installed: .venv/bin/python $(SOURCES)
	rm -rf build
	$(BIN)/pip install --quiet "pip>=25.1"
	$(BIN)/pip install --quiet ".[spark]" $(TOOLS)
	touch $@

java:                      ## for the tests of sweeps, which run on Spark; without it they are skipped
	@command -v java >/dev/null || { apt-get update -qq && apt-get install -qq -y openjdk-17-jre-headless; } \
		|| echo "no Java, and it cannot be installed here: the tests of sweeps on Spark are skipped"

asm:                       ## ASM, with which make mutants-real changes compiled classes
	@test -e /usr/share/java/asm-all.jar || { apt-get update -qq && apt-get install -qq -y --no-install-recommends libasm-java; }

clean:                     ## remove all that these commands make
	rm -rf .venv build dist site *.egg-info .mypy_cache .pytest_cache .ruff_cache .hypothesis
