# Every task of the project; `make help` lists them. Each first brings .venv up to date if it has to.

SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.PHONY: help install setup serve test test-ci test-all slow-tests lint fix docs bench performance profile fault-tests fault-tests-long lock audit checkers release-check sbom dist console pictures n8n

RUN := .venv/.set-up-to-run
STAMP := .venv/.set-up
CLIENT := sdk/python/src/touchbase_client

# The first Python on this machine that is new enough; before all others one that was built with optimisation, as those of distributions
# are and those that pyenv builds are not: it serves a sixth more calls a second. `make serve PYTHON=...` names another one.
OPTIMISED = ensurepip, venv; assert sys.base_prefix == "/usr" or "--enable-optimizations" in sysconfig.get_config_var("CONFIG_ARGS")
PYTHON ?= $(shell for fit in '$(OPTIMISED)' 'sys'; do \
	for each in python3 python3.14 python3.13 python3.12 python3.11 /usr/bin/python3; do \
	if "$$each" -c "import sys, sysconfig; assert sys.version_info >= (3, 11); import $$fit" >/dev/null 2>&1; then echo "$$each"; exit; fi; done; done)

help: ## List what can be made
	@grep -hE '^[a-z0-9-]+:.*## ' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 18

install: $(RUN) $(CLIENT)/_version.py ## Install what running Touchbase needs into .venv, as locked

$(RUN): deploy/requirements.lock
	@if [ -z "$(PYTHON)" ]; then echo "Touchbase needs Python 3.11 or newer: install it, or name it with PYTHON=..." >&2; exit 1; fi
	@"$(PYTHON)" -c 'import ensurepip, venv' 2>/dev/null || { echo "$(PYTHON) has no venv module: install it (Debian: python3-venv)" >&2; exit 1; }
	@echo "Installing what Touchbase needs to run into .venv: $$(grep -c == $<) packages, checked against the hashes in $<" >&2
	@"$(PYTHON)" -m venv .venv
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r $<
	@printf '%s\n' "$(CURDIR)/src" "$(CURDIR)/sdk/python/src" >"$$(.venv/bin/python -c 'import sysconfig; print(sysconfig.get_path("purelib"))')/touchbase.pth"
	@printf '#!/bin/sh\nexec "$$(dirname "$$0")/python" -m touchbase "$$@"\n' >.venv/bin/touchbase && chmod +x .venv/bin/touchbase
	@touch $@

# The types, the methods and the synchronous face of the Python client.
$(CLIENT)/_version.py: openapi.json $(wildcard sdk/python/*.py) $(filter-out %/groups.py,$(wildcard $(CLIENT)/_async/*.py)) | $(RUN)
	@.venv/bin/python sdk/python/generate.py
	@touch $@

setup: $(STAMP) $(CLIENT)/_version.py ## Install Touchbase with the tools for its tests into .venv, as locked

$(STAMP): requirements.lock pyproject.toml sdk/python/pyproject.toml $(RUN) | $(CLIENT)/_version.py
	@echo "Adding the tools for tests and checks to .venv (pytest, ruff, mypy, a PostgreSQL server), 250 MB more, from $<" >&2
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r $<
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check --no-deps --no-build-isolation -e . -e sdk/python
	@touch $@

# Only of make's command line: shells export HOST, with another meaning.
option = $(if $(filter command,$(firstword $(origin $(1)))), $(2) '$($(1))')

serve: install ## Run the server on this machine, on a SQLite file; make serve PORT=8010 HOST=0.0.0.0 for another address
	.venv/bin/touchbase serve$(call option,HOST,--host)$(call option,PORT,--port)

IN_PARALLEL := -n auto --dist worksteal
# Fault runs wait more than they work: 3 s of a processor in 18.
TWO := -n 2 --dist worksteal
# Where bytecode is not written, every process compiles the service again: a second of the processor for each server that a test starts.
test test-ci test-all: export PYTHONDONTWRITEBYTECODE :=
# The programs that fault runs with broken builds and of high availability try, as committed; `.ci/tried` has those of the last whole run.
TRIED = git rev-parse HEAD:fault_tests HEAD:src/touchbase/storage HEAD:src/touchbase/stores HEAD:src/touchbase/server HEAD:deploy

test: setup ## Run the tests, but for the slow ones: about 4 minutes on two cores
	.venv/bin/python -m pytest $(IN_PARALLEL) -m "not slow and not serial and not weekly"

test-ci: setup ## Run what CI runs: the slow tests too, and fault runs with broken builds if their programs changed
	.venv/bin/python -m pytest $(IN_PARALLEL) -m "not serial and not weekly"
	if [ "$$($(TRIED))" = "$$(cat .ci/tried)" ]; then .venv/bin/python -m pytest $(TWO) -m "serial and not weekly"; else .venv/bin/python -m pytest $(TWO) -m serial; fi

test-all: export TOUCHBASE_TESTS := full
test-all: setup ## Run every test with all examples, as once a week: an hour on two cores
	.venv/bin/python -m pytest $(IN_PARALLEL) -m "not serial"
	.venv/bin/python -m pytest $(TWO) -m serial
	$(TRIED) >.ci/tried

slow-tests: setup ## Write the list of tests that take too long for make test
	.venv/bin/python -m pytest $(IN_PARALLEL) -m "not serial" -p tests.slow_tests

lint: setup ## Check style, format, types and which package imports which
	.venv/bin/ruff check .
	.venv/bin/ruff format --check .
	.venv/bin/mypy
	.venv/bin/lint-imports

fix: setup ## Mend style and format where a tool can
	.venv/bin/ruff check --fix .
	.venv/bin/ruff format .

docs: install ## Write openapi.json, and build the documentation with its tables into build/docs
	.venv/bin/touchbase openapi --auth api-key --public-url '' > openapi.json
	.venv/bin/python sdk/python/generate.py
	.venv/bin/python docs/build.py

bench: setup ## Measure the service on this machine, and compare what a request costs with bench/counted.json
	.venv/bin/python -m bench.counted
	.venv/bin/python -m bench

performance: setup ## Measure everything on docs/explanation/performance.md (two hours, 60 GB of disk; needs wrk)
	.venv/bin/python -m bench.rerun

profile: setup ## Where the time of each path goes (needs py-spy)
	.venv/bin/python -m bench.profile --all --out .bench/profile

fault-tests: setup ## Kill, stop and starve servers under load, and count what is lost
	.venv/bin/python -m fault_tests

fault-tests-long: setup ## The same with many rounds, and thousands of programs against the model of records
	.venv/bin/python -m fault_tests --long
	TOUCHBASE_MODEL_EXAMPLES=3000 .venv/bin/python -m pytest tests/projection/reference_model --timeout 3600

audit: setup ## Look up known holes in the locked packages; fails too where nobody can be asked
	.venv/bin/python -m supply.audit

dist: setup ## Build the wheels and the source distributions of the server and of the Python client into dist/
	.venv/bin/python -m build --no-isolation
	.venv/bin/python -m build --no-isolation --outdir dist sdk/python

release-check: setup ## Compare the version in the tree with the tag, as make release-check TAG=v1.2.3
	@.venv/bin/python -m supply.release "$(TAG)"

checkers: setup ## Add test tools that are too heavy for everyone: checkers of Kubernetes objects and workflows, agents (200 MB)
	@.venv/bin/python -m pip install --quiet --disable-pip-version-check --require-hashes --only-binary :all: -r supply/checks.lock

sbom: setup ## Write build/touchbase.cdx.json, the list of what a running Touchbase is made of
	.venv/bin/python -m supply.sbom

lock: ## Choose the newest dependencies anew and lock them with their hashes (needs uv)
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header \
		--no-emit-package touchbase-client --extra dev pyproject.toml -o requirements.lock
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header \
		--no-emit-package touchbase-client --constraint requirements.lock pyproject.toml -o deploy/requirements.lock
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links --no-annotate --no-header \
		bench/template/requirements.in -o bench/requirements.lock
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-annotate --no-header \
		--constraint requirements.lock supply/checks.in -o supply/checks.lock
	uv pip compile --universal --python-version 3.11 --generate-hashes --no-emit-index-url --no-emit-find-links --no-annotate --no-header \
		tests/http/generators/requirements.in -o tests/http/generators/requirements.lock

pictures: setup ## Take the pictures of README and docs, of the demo (needs Chromium)
	.venv/bin/python -m tests.console.readme_pictures

console: ## Build the console's files in the package from console/ (needs Node 20 and npm)
	cd console && npm ci && npm run types && npm run build

n8n: ## Check and build the node for n8n in integrations/ (needs Node 20 and npm)
	cd integrations/n8n-nodes-touchbase && npm ci && npm run types && npm run lint && npm run build
