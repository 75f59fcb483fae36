# make demo             serve the site on the built-in events and print its address (PORT=8000)
# make test             lint, types and tests: all that must hold before a change lands
# make test-python      the tests alone; part of make test
# make test-bridges     the tests of the bridges to LensKit and RecTools; part of make test
# make test-processors  the numeric tests with the arithmetic of several processors and thread counts
# make docs             the documentation as a site, in build/docs
# make references       rewrite the pages that are made from the program, after a change of options
# make notebooks        run the notebooks of examples/ and write their outputs
# make bench            the short benchmarks; figures and commands in benchmarks/README.md
# make soak             visitors, reloads and faults on a real server for ten minutes (MINUTES=60)

PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# LensKit and RecTools hold numpy, pandas and attrs back: they have an environment of their own.
BRIDGES := $(VENV)/bridges
NEW_VENV = @$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { \
	  echo "Python 3.11 or newer is needed; name one with make PYTHON=..." >&2; exit 1; }; \
	test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
PIP_INSTALL := -m pip install --quiet --disable-pip-version-check
INSTALL := $(BIN)/python $(PIP_INSTALL) --constraint constraints.txt
# The pip that comes with Python 3.11 takes twice as long as a new one.
NEW_PIP := $(INSTALL) --upgrade pip

.PHONY: demo test test-python test-bridges test-processors browser lint format docs references notebooks bench soak clean

PORT ?= 8000

demo: $(VENV)/.run
	$(BIN)/teaser demo --port $(PORT)

# Each worker of pytest has one thread for algebra: more would compete for the cores. There is one
# worker more than cores, because some tests wait for servers; with two more they took longer. The
# tests of one file run in one worker, because they share what takes long to make. Bytecode is
# written, whatever the environment says: else every worker and every program that a test starts
# compiles all files anew.
WORKERS := $(shell expr $$(getconf _NPROCESSORS_ONLN) + 1)
ONE_THREAD := PYTHONDONTWRITEBYTECODE= OPENBLAS_NUM_THREADS=1 OMP_NUM_THREADS=1
PYTEST := $(ONE_THREAD) $(BIN)/python -m pytest

# Beside each other, because types, installations and the bridges keep one core busy each.
test:
	$(MAKE) --no-print-directory --jobs=3 lint test-bridges test-python

# A first run collects all tests and fits each kind of model. So bytecode and compiled loops are
# there when the workers start: else each of them would compile all. It judges nothing.
FIRST := test_fit_returns_the_model or test_lists_of_all_users_are_those_of_each
test-python: $(VENV)/.dev browser
	@$(PYTEST) -qq -k "$(FIRST)" >/dev/null 2>&1 || true
	$(PYTEST) -n $(WORKERS) --dist loadfile --no-loadscope-reorder

test-bridges: $(BRIDGES)/.dev
	$(ONE_THREAD) $(BRIDGES)/bin/python -m pytest tests/bridges

# CORES="Haswell Zen" runs some core types only; see tests/processors.py.
test-processors: $(VENV)/.dev
	$(BIN)/python tests/processors.py $(CORES) -- -n auto

# The tests of the site need a Chromium. Where Debian's packages can be had, the one without a window
# is installed: with it the tests of the site take two thirds of the time.
browser:
	@command -v chromium-headless-shell >/dev/null || { \
	  apt-get update -qq && apt-get install -qq -y chromium-headless-shell; } >/dev/null 2>&1 || \
	  command -v chromium || command -v chromium-browser || command -v google-chrome || { \
	  echo "The tests of the site need Chromium. Install it and run make test again." >&2; exit 1; }

lint: $(VENV)/.dev
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy

format: $(VENV)/.dev
	$(BIN)/ruff check --fix .
	$(BIN)/ruff format .

docs: $(VENV)/.dev
	cd docs && ../$(BIN)/python -m website.build

references: $(VENV)/.dev
	cd docs && ../$(BIN)/python -m website.references

notebooks: $(VENV)/.dev
	$(BIN)/python tests/notebooks.py

bench: $(VENV)/.dev
	$(BIN)/python benchmarks/ml20m.py --quick
	$(BIN)/python benchmarks/large.py --quick
	$(BIN)/python benchmarks/lists.py --quick
	$(BIN)/python benchmarks/site.py

MINUTES ?= $(or $(SOAK_MINUTES),10)

# SOAK="--max-p99 50" gives it further options; python -m soak --help lists them.
soak: $(VENV)/.dev
	cd benchmarks && ../$(BIN)/python -m soak --minutes $(MINUTES) $(SOAK)

$(VENV)/.run: pyproject.toml constraints.txt
	$(NEW_VENV)
	$(NEW_PIP)
	$(INSTALL) --editable '.[serve]'
	@touch $@

# It has all that .run has. Only what is imported is compiled, at its first use.
$(VENV)/.dev: pyproject.toml constraints.txt
	$(NEW_VENV)
	$(NEW_PIP)
	$(INSTALL) --no-compile --editable '.[serve,postgres,traces,evaluate,study,docs,dev]'
	@touch $(VENV)/.run $@

# LensKit needs torch. On Linux the index has it with CUDA's packages, of several GB; where pip
# finds a CPU build of the same version, it takes that. Few of its files are ever compiled.
$(BRIDGES)/.dev: pyproject.toml constraints-bridges.txt
	test -x $(BRIDGES)/bin/python || $(PYTHON) -m venv $(BRIDGES)
	$(BRIDGES)/bin/python $(PIP_INSTALL) --constraint constraints-bridges.txt --upgrade pip
	$(BRIDGES)/bin/python $(PIP_INSTALL) --no-compile \
	  --constraint constraints-bridges.txt --editable '.[lenskit,rectools]' \
	  pytest pytest-xdist hypothesis
	@touch $@

clean:
	rm -rf $(VENV) build dist .mypy_cache .pytest_cache .ruff_cache .hypothesis
