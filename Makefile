# Every target sets up what it needs by itself: Python 3.11 and a network to PyPI are enough.
.DEFAULT_GOAL := help
SHELL := /bin/bash
PYTHON ?= $(shell command -v python3.11 || command -v python3)
VENV := .venv
BIN := $(VENV)/bin
UV_VERSION := 0.13.7
SOAK_SECONDS ?= 60
SOAK_UPDATES ?= 200
STREAM_SECONDS ?= 60
QUERIES ?= 20000
SEEDS ?= 0-99
SIMULATE_SECONDS ?=
SEARCH ?= 1000000,256
SEARCH_SECONDS ?= 75
SEARCH_FEWER ?= 20000,5000
# One more than the cores they were tried on: some tests wait, for a lease, a process, a store that is gone.
WORKERS ?= 3
# Compiled modules are kept, whatever the machine's default is: a process of the tests imports in 1.1 s instead of 2.8 s.
export PYTHONDONTWRITEBYTECODE :=
SYNC = UV_PYTHON_DOWNLOADS=never UV_PROJECT_ENVIRONMENT=$(VENV) $(BIN)/uv sync --frozen --inexact --quiet \
	--no-default-groups --group dev --group testing --extra frames --extra spark --extra server --extra client --extra mcp --extra otel \
	--extra local --extra shell --extra draw --extra excel --extra databases --extra lsp --extra highlight \
	--extra networks --extra langchain --extra llamaindex --extra notebook

.PHONY: help setup demo demo-stream test test-slow test-all test-thorough test-script explore check format bench bench-search attack soak-server mutants crash soak simulate differential client-session image image-session studio screenshots docs clean

help: ## what there is to run
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/^([a-z-]+):.*## (.*)/  make \1\t\2/' | expand -t 22

$(VENV)/.ready: pyproject.toml uv.lock Makefile
	@test -n "$(PYTHON)" || { echo "Python 3.11 or newer is needed on PATH"; exit 1; }
	@$(PYTHON) -c 'import sys; sys.exit(sys.version_info < (3, 11))' || { echo "$(PYTHON) is older than Python 3.11"; exit 1; }
	@test -x $(BIN)/python || $(PYTHON) -m venv $(VENV)
	@test -x $(BIN)/uv || $(BIN)/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION)
	@$(SYNC)
	@touch $@

setup: $(VENV)/.ready ## create .venv with everything the tests need

demo: $(VENV)/.ready ## the main job, end to end
	@$(BIN)/python examples/demo/run.py

demo-stream: $(VENV)/.ready ## a minute with a producer, a Spark stream that is stopped half way, and a reader (STREAM_SECONDS=60)
	@$(BIN)/python examples/streams/run.py --seconds $(STREAM_SECONDS)

test: $(VENV)/.ready ## the tests, but for the slow ones: about ten minutes on two cores
	@$(BIN)/python -m pytest -n $(WORKERS) -m "not slow"

test-slow: $(VENV)/.ready ## the slow tests, which `make test` leaves out
	@OMNIGRAPH_TEST_THOROUGH=1 $(BIN)/python -m pytest -n $(WORKERS) -m slow

test-all: $(VENV)/.ready ## every test but the soaks, as CI runs them: half of the random examples, each command through its script as well
	@OMNIGRAPH_TEST_THOROUGH=half OMNIGRAPH_TEST_SCRIPT=each $(BIN)/python -m pytest -n $(WORKERS) -m "not soak"

test-thorough: $(VENV)/.ready ## the random tests with all of their examples
	@OMNIGRAPH_TEST_THOROUGH=1 $(BIN)/python -m pytest -n $(WORKERS) -m "hypothesis and not slow"

test-script: $(VENV)/.ready ## every case of the command line through the installed script, in processes of their own
	@OMNIGRAPH_TEST_SCRIPT=all $(BIN)/python -m pytest -n 2 tests/conformance/test_cli_cases.py \
	  tests/conformance/test_cli_operations.py tests/conformance/test_cli_blobs.py tests/server/test_cli_served.py

explore: $(VENV)/.ready ## the random tests with examples that no run has seen; a failure prints how to reproduce it
	@OMNIGRAPH_TEST_EXPLORE=1 OMNIGRAPH_TEST_THOROUGH=1 $(BIN)/python -m pytest -n 2 -m hypothesis

check: $(VENV)/.ready ## lint, format, types, import contracts, dependencies, container files
	@$(BIN)/ruff check .
	@$(BIN)/ruff format --check .
	@$(BIN)/mypy
	@$(BIN)/lint-imports
	@$(BIN)/deptry src
	@$(BIN)/hadolint Dockerfile
	@$(BIN)/check-jsonschema --quiet --builtin-schema vendor.compose-spec deploy/compose.yaml
	@$(BIN)/kubernetes-validate --quiet --strict deploy/kubernetes/*.yaml

format: $(VENV)/.ready ## apply ruff's fixes and formatting
	@$(BIN)/ruff check --fix .
	@$(BIN)/ruff format .

bench: $(VENV)/.ready ## side-by-side ratios, printed
	@$(SYNC) --group bench
	@$(BIN)/python -m bench

# DuckDB's extensions are on PyPI for an older release of it only, and kuzu is archived: they get an environment of their own.
$(VENV)-search/.ready: $(VENV)/.ready
	@$(BIN)/uv venv --quiet --allow-existing --python $(BIN)/python $(VENV)-search
	@$(BIN)/uv pip install --quiet --python $(VENV)-search/bin/python "duckdb>=1.5,<1.6" "duckdb-extension-vss>=1.5,<1.6" \
	  "duckdb-extension-fts>=1.5,<1.6" "kuzu==0.11.3" "tantivy>=0.27,<1" numpy pyarrow
	@touch $@

bench-search: $(VENV)-search/.ready ## search beside four engines, into docs/benchmarks.md (SEARCH=rows,numbers SEARCH_SECONDS=75 a phase)
	@$(SYNC) --group bench
	@OMNIGRAPH_BENCH_SEARCH=$(SEARCH) OMNIGRAPH_BENCH_SEARCH_SECONDS=$(SEARCH_SECONDS) OMNIGRAPH_BENCH_SEARCH_PAGE=1 \
	  OMNIGRAPH_BENCH_SEARCH_FEWER=$(SEARCH_FEWER) \
	  OMNIGRAPH_BENCH_SEARCH_PYTHON=$(VENV)-search/bin/python \
	  OMNIGRAPH_BENCH_SEARCH_ENGINES=omnigraph,lancedb,tantivy,duckdb,kuzu $(BIN)/python -m bench search

attack: $(VENV)/.ready ## attacks on a real server: connections, bodies, queries, policies, agents; each with what it must answer
	@$(BIN)/python -m tests.attack

soak-server: $(VENV)/.ready ## a served graph under reads, writes and abuse; memory and descriptors stay flat (SOAK_SECONDS=600)
	@$(BIN)/python -m bench.serve_soak --seconds $(SOAK_SECONDS)

mutants: $(VENV)/.ready ## break safety-critical lines one at a time, and see that a test notices each
	@$(BIN)/python -m tests.mutants

crash: $(VENV)/.ready ## kill a process at every named step and print what became of it
	@$(BIN)/python -m omnigraph.testing.crash.storage_matrix

soak: $(VENV)/.ready ## many writer processes with kills and pauses, on disk and on S3 (SOAK_SECONDS=600 make soak)
	@$(BIN)/python -m omnigraph.testing.soak.run --seconds $(SOAK_SECONDS) --processes 6
	@$(BIN)/python -m omnigraph.testing.soak.run --seconds $(SOAK_SECONDS) --processes 6 --s3
	@$(BIN)/python -m omnigraph.testing.soak.run --updates $(SOAK_UPDATES) --processes 6
	@$(BIN)/python -m omnigraph.testing.soak.run --updates $(SOAK_UPDATES) --processes 6 --s3

simulate: $(VENV)/.ready ## the commit protocol over simulated storage, clocks and crashes (make simulate SEEDS=0-999)
	@$(BIN)/python -m tests.simulation --seeds $(SEEDS) $(if $(SIMULATE_SECONDS),--seconds $(SIMULATE_SECONDS))

differential: $(VENV)/.ready ## random queries against DuckDB, with the seed on failure (make differential QUERIES=20000)
	@OMNIGRAPH_DIFFERENTIAL_QUERIES=$(QUERIES) $(BIN)/python -m pytest -n 2 tests/differential

client-session: $(VENV)/.ready ## a TypeScript client generated from the OpenAPI document talks to a server (needs node and npm)
	@cd examples/openapi-client && npm ci --silent && npm run --silent generate && npm run --silent build
	@$(BIN)/python examples/openapi-client/run.py

image: $(VENV)/.ready ## the images of the Dockerfile: with Docker or Podman, else with buildah and a base of Debian packages (ENGINE=buildah)
	@$(BIN)/python -m tools.images.build

image-session: $(VENV)/.ready ## run the images that buildah has built as containers, as deploy/ starts them (needs root, runc, iproute2)
	@$(BIN)/python -m tools.images.session

studio: $(VENV)/.ready ## build the browser interface into the package (Node.js from the machine, or from PyPI)
	@$(BIN)/python tools/build_studio.py

screenshots: $(VENV)/.ready ## take the pictures of the studio again (needs `make studio` and Chromium)
	@$(BIN)/python tools/screenshots.py

docs: $(VENV)/.ready ## build the documentation into site/
	@$(SYNC) --group docs
	@NO_MKDOCS_2_WARNING=1 $(BIN)/mkdocs build --strict --quiet
	@echo "site/index.html"

clean: ## remove what make created
	rm -rf $(VENV) $(VENV)-search demo site dist .mypy_cache .ruff_cache .pytest_cache .hypothesis
