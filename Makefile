# Each goal sets up what it needs: a virtual environment in .venv, and both packages (the second, in paper/,
# reproduces the paper) with what the goal uses.
# The stamps keep a second run from installing again.

PYTHON ?= $(shell for p in python3.13 python3.12 python3.11 python3; do \
	$$p -c 'import sys; sys.exit(sys.version_info < (3, 11))' 2>/dev/null && { echo $$p; break; }; done)
BIN := .venv/bin
PIP := $(BIN)/python -m pip install --disable-pip-version-check --quiet
# Byte code, as for any installed package: commands start faster.
COMPILE := $(BIN)/python -m compileall -q src/pdsketch paper/src/pdsketch_paper
CHECKED := src paper/src tests paper/tests benchmarks examples

# One thread a process: the tests run in parallel already.
export OMP_NUM_THREADS ?= 1
# Byte code is kept whatever the environment says: of the tests, too, whose assertions pytest rewrites.
export PYTHONDONTWRITEBYTECODE :=

.PHONY: help demo test quick lint format core sanitize fuzz torture soak bench quality clean mutants agree cluster browser docs options

help:  ## this list
	@grep -hE '^[a-z]+: .*##|^[a-z]+:  ##' $(MAKEFILE_LIST) | sed -E 's/^([a-z]+):.*## (.*)/  make \1\t\2/' | expand -t 16

$(BIN)/python:
	@test -n "$(PYTHON)" || { echo "pdsketch needs Python 3.11 or later" >&2; exit 1; }
	$(PYTHON) -m venv .venv

.venv/installed: pyproject.toml paper/pyproject.toml | $(BIN)/python
	$(PIP) --editable . --editable ./paper
	@$(COMPILE)
	@touch $@

.venv/installed-dev: pyproject.toml paper/pyproject.toml | $(BIN)/python
	$(PIP) --editable '.[dev]' --editable './paper[painting]'
	@$(COMPILE)
	@touch .venv/installed $@

demo: .venv/installed  ## see it work: learn a sketch, plan and act with it
	$(BIN)/pdsketch demo

# Whole files to a worker, long ones first: what the tests of a file share is made once.
test: .venv/installed-dev  ## all tests, on two cores
	$(BIN)/python -m pytest -n 2 --dist loadfile --no-loadscope-reorder

quick: .venv/installed-dev  ## the tests of the language and of the command line
	$(BIN)/python -m pytest tests/lang tests/cli

lint: .venv/installed-dev  ## style, types, and which room may import which
	$(BIN)/ruff check $(wildcard $(CHECKED))
	$(BIN)/ruff format --check $(wildcard $(CHECKED))
	$(BIN)/mypy
	$(BIN)/lint-imports

format: .venv/installed-dev  ## put the code and the examples into canonical layout
	$(BIN)/ruff format $(wildcard $(CHECKED))
	$(BIN)/pdsketch fmt examples/*/*.pddl examples/*/*.pdsketch

core: .venv/installed-dev  ## build the engine again, after changes in core/
	$(PIP) --no-deps --editable .

# The sanitizers come first into the process, and exceptions must be known to them. Leaks: the interpreter has its own.
# Where memory is refused, the sanitizer's allocator ends the process: those tests are for the library as it is shipped.
CXX ?= c++
SANITIZED = PDSKETCH_CORE=$(CURDIR)/build/core-sanitize/_core.so ASAN_OPTIONS=detect_leaks=0 \
	LD_PRELOAD="$$($(CXX) -print-file-name=libasan.so) $$($(CXX) -print-file-name=libstdc++.so)"

sanitize: .venv/installed-dev  ## the engine's tests and 5,000 random cases, with sanitizers (addresses, undefined behaviour)
	$(BIN)/cmake -S core --preset sanitize
	$(BIN)/cmake --build build/core-sanitize --parallel
	$(SANITIZED) $(BIN)/python -m pytest -n 2 tests/core tests/task tests/heuristics tests/search/packed \
		--deselect tests/core/test_library.py::test_memory_that_the_system_refuses_is_an_answer \
		--deselect tests/core/test_hostile.py::test_a_machine_without_memory_is_an_answer
	$(SANITIZED) $(BIN)/python -m tests.agree --cases 5000 --kind ground,packed,relaxed,search

fuzz: .venv/installed-dev  ## 100,000 mutated files through the language; no crash, no hang
	$(BIN)/python -m tests.fuzz --files 100000

torture: .venv/installed-dev  ## kills, full disks, damaged files, limits: tries and losses (14 minutes)
	$(BIN)/python -m paper.tests.torture

soak: .venv/installed-dev  ## plans, fits and requests of the page for a long time: is memory flat? (SCALE=0.01; 1: a day)
	$(BIN)/python -m tests.soak --scale $(or $(SCALE),0.01)

mutants: .venv/installed-dev  ## do the tests notice? changes at random (DRAWN=400 SEED=…), then the listed ones (ONLY=pattern)
	$(BIN)/python -m tests.mutation --drawn $(or $(DRAWN),400) --least $(or $(LEAST),40) $(if $(SEED),--seed $(SEED)) $(if $(ROOM),--room $(ROOM)) \
		$(if $(ONLY),--only '$(ONLY)')
	$(BIN)/python -m tests.mutation $(if $(ONLY),--only '$(ONLY)')

agree: .venv/installed-dev  ## 100,000 random cases of every engine against the reference (SEED=0)
	$(BIN)/python -m tests.agree --cases 100000 --seed $(or $(SEED),0)

options: .venv/installed-dev  ## what the declarations of options say elsewhere: tables, types for editors
	$(BIN)/python -m tests.docs.generated

docs: .venv/installed-dev  ## the documents as a site, in site/; every link is checked
	$(PIP) --editable '.[docs]'
	NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --strict

cluster: .venv/installed-dev  ## runs on Ray, with two local workers (installs Ray, 80 MB)
	$(PIP) --editable './paper[cluster]'
	$(BIN)/python -m paper.tests.cluster

browser: .venv/installed-dev  ## the page of `pdsketch serve` in a real browser (needs Chromium)
	$(PIP) --editable '.[browser]'
	$(BIN)/python -m tests.serve.browser

bench: .venv/installed-dev  ## loading speed beside other parsers (DIR=a folder of PDDL files)
	$(BIN)/python benchmarks/parse.py $(if $(DIR),$(DIR),examples)

# What an interrupted run had found is gone on with by: benchmarks/quality.py --jobs 2 --go-on
quality: .venv/installed-dev  ## does it learn as well as it did? beside benchmarks/quality.json (9 CPU minutes)
	$(BIN)/python benchmarks/quality.py --jobs 2

clean:  ## remove what the other goals made
	rm -rf .venv .mutants build dist site .mypy_cache .ruff_cache .pytest_cache .hypothesis .import_linter_cache
