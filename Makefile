# `make` lists the targets. Everything runs in .venv, which the first target that needs it creates.
SHELL := bash
.DEFAULT_GOAL := help
.PHONY: help setup run findings public test not-slow test-fast test-slow test-oldest test-quality snapshots coverage lint types documentation check bench peers bench-peers docs viewer screenshots lock release clean

BIN := .venv/bin
READY := .venv/.ready
DEV := .venv/.ready-dev
CODE := $(wildcard src tests benchmarks docs/notebooks)
WORKERS ?= 3
ARGS ?=
export PYTHON
export NO_MKDOCS_2_WARNING := 1 # the theme advertises its successor at every build
export PYTHONDONTWRITEBYTECODE := # where it is set, every process of a test would compile the program and the tests anew

help: ## list the targets
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | awk -F'\t' '{printf "  make %-13s %s\n", $$1, $$2}'

$(READY): pyproject.toml requirements.lock scripts/setup.sh
	@scripts/setup.sh

$(DEV): pyproject.toml requirements.lock requirements-dev.lock scripts/setup.sh
	@scripts/setup.sh dev

setup: $(DEV) ## create .venv with all that development needs (PYTHON=... chooses the interpreter)

run: $(READY) ## compare labels, notes and takedowns with no moderation, and print the answer (ARGS="--seeds 10" passes options)
	@$(BIN)/townsquare compare health-rumor --vary moderation.response=none,label,note,takedown --brief \
		$(if $(findstring --seeds,$(ARGS)),,--seeds 3) $(ARGS)

findings: $(DEV) ## write the findings quoted in README.md anew, from the comparison of `make run`
	$(BIN)/python scripts/findings.py $(ARGS)

public: $(DEV) ## write docs/public.md anew: facts, rankers, moderation and ablations of the flagship (half an hour)
	$(BIN)/python scripts/public.py $(ARGS)

# Files stay whole, so that what a file records is recorded once; the long ones of runs/ and system/ come first.
PYTEST := $(BIN)/python -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder --durations 10

# The test processes use all processors: threads of linear algebra would wait for each other, and busily.
test not-slow test-fast test-slow coverage: export OPENBLAS_NUM_THREADS := 1

test: $(DEV) ## lint, then types beside the tests, one of which builds the documentation (ARGS="-k feed" passes options, WORKERS=4 processes)
	@$(MAKE) --no-print-directory lint
	@$(MAKE) --no-print-directory --jobs 2 types not-slow  # tests that wait for a process leave room for types
	@echo "Tests marked slow (kills, full disks, 10,000 agents in the viewer, a real model server): make test-slow"

not-slow: $(DEV)
	$(PYTEST) -m "not slow" $(ARGS)

test-fast: $(DEV) ## format, lint and the unit tests: for every save
	@$(MAKE) --no-print-directory lint
	$(PYTEST) -m "not slow" tests/test_structure.py tests/unit $(ARGS)

test-slow: $(DEV) ## the tests that take long: kills, full disks, large runs, a real model server
	$(PYTEST) -m slow $(ARGS)

snapshots: $(DEV) ## write the wording of pages in tests/**/snapshots anew; look at the difference before you commit it
	RENEW_SNAPSHOTS=1 $(BIN)/python -m pytest -q $(shell grep -rl --include='test_*.py' '^from snapshots' tests)

coverage: $(DEV) ## the tests again, counting which lines of the package they run (kernels are compiled: not counted)
	$(BIN)/coverage erase
	$(BIN)/coverage run -m pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder -q -m "not slow" $(ARGS)
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report --skip-covered --sort=cover

OLDEST := .venv-oldest
UV = $(shell command -v uv || echo $(BIN)/uv)
test-oldest: $(DEV) ## the tests of unit/ and runs/ with the oldest packages that pyproject.toml allows, in .venv-oldest
	$(UV) venv --quiet --clear --python $(BIN)/python $(OLDEST)
	$(UV) pip install --quiet --python $(OLDEST)/bin/python --resolution lowest-direct --only-binary :all: \
		--group dev --editable '.[all]'
	$(OLDEST)/bin/python -m pytest -n $(WORKERS) --dist loadfile -m "not slow" tests/unit tests/runs $(ARGS)

QUALITY := .venv-quality/bin
TORCH ?= torch==2.13.0
test-quality: $(DEV) ## the transformer strength judge (extra `quality`), with torch in .venv-quality
	test -x $(QUALITY)/python || $(BIN)/python -m venv .venv-quality
	$(QUALITY)/python -m pip install --quiet --editable '.[quality]' '$(TORCH)' 'pytest>=9.2'
	$(QUALITY)/python -m pytest -q tests/system/quality $(ARGS)

lint: $(DEV) ## format and lint
	$(BIN)/ruff format --check $(CODE)
	$(BIN)/ruff check $(CODE)

types: $(DEV) ## types of the package and of the tests
	$(BIN)/mypy

documentation: $(DEV) ## build the documentation, strictly
	$(BIN)/mkdocs build --strict --quiet

check: lint types documentation ## all of these, the structure and the examples in docstrings
	$(BIN)/python -m pytest -q tests/test_structure.py tests/unit/program/test_docstrings.py

bench: $(DEV) ## run the benchmarks
	$(BIN)/python benchmarks/run.py $(ARGS)

peers: $(DEV) ## install what bench-peers measures beside Townsquare into .venv-peers (1.5 to 7 GB; TORCH=... chooses torch)
	TORCH='$(TORCH)' scripts/peers.sh

bench-peers: peers ## Townsquare beside NDlib, Mesa, mesa-frames and camel-oasis: about ten minutes
	$(BIN)/python benchmarks/peers/run.py $(ARGS)

docs: $(DEV) ## build the documentation into site/ (.venv/bin/mkdocs serve shows it, with search)
	$(BIN)/mkdocs build --strict

viewer: ## build the page of `townsquare view` from viewer/ (needs Node 20 and the network)
	cd viewer && npm ci && npm run build

screenshots: $(DEV) ## record runs and draw each view of the viewer into docs/images/ (needs Chromium)
	$(BIN)/python scripts/screenshots.py

LOCK = $(UV) pip compile --upgrade --universal --generate-hashes --no-annotate \
	--custom-compile-command 'make lock' --quiet pyproject.toml
lock: $(DEV) ## write both lock files anew from pyproject.toml (needs the network)
	$(LOCK) --group dev --extra all --output-file requirements-dev.lock
	$(LOCK) --group build --constraint requirements-dev.lock --output-file requirements.lock
	@! grep -n '://' requirements*.lock || { echo "lock files must name no host" >&2; exit 1; }

release: $(DEV) ## prepare a release: VERSION=0.2.0 sets the version, dates the changelog, builds dist/; uploads nothing
	$(BIN)/python scripts/release.py $(VERSION)
	$(BIN)/python -m pytest -q tests/system/program/test_wheel.py

clean: ## remove .venv, built files and caches; keeps runs/
	rm -rf .venv .venv-quality .venv-oldest .venv-peers build dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis
	find src tests $(wildcard benchmarks) -name __pycache__ -type d -prune -exec rm -rf {} +
