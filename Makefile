# speccompose: `make` prints this help. Everything that a target needs, it installs itself.
SHELL := /bin/bash
PYTHON ?= python3
VENV := .venv
BIN := $(VENV)/bin
# Bytecode is kept, whatever the shell says: without it every worker of the tests compiles them anew.
RUN := PATH="$(CURDIR)/$(BIN):$$PATH" PYTHONDONTWRITEBYTECODE=

.DEFAULT_GOAL := help

help: ## show this help
	@grep -hE '^[a-z-]+:.*?## ' $(MAKEFILE_LIST) | awk 'BEGIN {FS = ":.*?## "} {printf "  %-16s %s\n", $$1, $$2}'

$(VENV)/.ready: pyproject.toml .ci/venv
	@.ci/venv $(PYTHON) $(VENV)
	@touch $@

setup: $(VENV)/.ready ## make the virtual environment with all that development needs

demo: $(VENV)/.ready engine ## the main job on this machine, end to end, with real parts
	@$(RUN) .ci/demo

demo-acceptance: $(VENV)/.ready engine image ## every kind of verdict, each with its page (9 minutes)
	@$(RUN) python -m tests.demo_acceptance

test: $(VENV)/.ready ## all tests that need no container engine (4 minutes, 2 cores)
	@TMPDIR=$$(.ci/tmpdir) $(RUN) pytest -n auto -m "not docker and not bench and not vllm and not lab and not ssh and not aiperf"

test-docker: $(VENV)/.ready engine image ## tests against the real llama-server and Docker Compose
	@.ci/ssh
	@$(RUN) pytest -m "(docker or ssh) and not bench" tests/docker tests/fleet tests/test_enrolling.py tests/test_rollouts.py tests/cli

test-vllm: ## goldens on the real vLLM, two served stacks (3.5 GB, opt-in)
	@.ci/vllm-venv $(PYTHON) .venv-vllm
	@.venv-vllm/bin/python -m pytest -m vllm tests/vllm

test-aiperf: engine image ## AIPerf on a real llama-server (1.3 GB, opt-in; AIPERF=0.11.0)
	@.ci/aiperf-venv $(PYTHON) .venv-aiperf $(AIPERF)
	@.venv-aiperf/bin/python -m pytest -p no:dash -m aiperf tests/aiperf

lab: $(VENV)/.ready engine ## start N=6 fake boards and print how to reach them
	@.ci/lab
	@$(RUN) python -m tests.lab up $(or $(N),6)

lab-down: $(VENV)/.ready ## remove the fake boards
	@$(RUN) python -m tests.lab down

lab-test: $(VENV)/.ready engine ## everything on fake boards, faults and power cuts too (2 h)
	@.ci/lab
	@LAB_BOARDS=6 $(RUN) pytest -m lab tests/lab

lab-ci: $(VENV)/.ready engine ## the part of lab-test that CI runs (about ten minutes)
	@.ci/lab
	@$(RUN) pytest -m lab_ci tests/lab

check: $(VENV)/.ready ## lint, types, tests, schemas: what CI runs first
	@$(RUN) ruff check .
	@$(RUN) ruff format --check .
	@$(RUN) mypy
	@$(RUN) speccompose catalog check
	@$(MAKE) --no-print-directory test

format: $(VENV)/.ready ## format and sort the code
	@$(RUN) ruff check --fix .
	@$(RUN) ruff format .

deploy: $(VENV)/.ready ## deploy MODEL=... here, or roll out FLEET=... (YES=1: unasked)
	@test -n "$(MODEL)$(FLEET)" || { echo "error: MODEL or FLEET is missing"; echo "  hint: make deploy MODEL=qwen3-8b, or make deploy FLEET=fleet.yaml"; exit 2; }
	@test -z "$(MODEL)" || test -z "$(FLEET)" || { echo "error: MODEL and FLEET exclude each other"; echo "  hint: a fleet file names its models itself"; exit 2; }
	@test -z "$(MODEL)" || { $(RUN) speccompose deploy --model "$(MODEL)" $(ARGS); }
	@test -z "$(FLEET)" || { $(RUN) speccompose fleet run "$(FLEET)" $(if $(YES),--yes) $(ARGS); }

golden: $(VENV)/.ready ## write the golden stacks anew; review the diff
	@$(RUN) python -m tests.golden_cases

schema: $(VENV)/.ready ## write the JSON Schemas that editors use
	@$(RUN) python -m speccompose.catalog.schema schemas

engine-tables: $(VENV)/.ready ## read the engines' flags anew from their releases (downloads)
	@$(RUN) python .ci/refresh-engines

docs: $(VENV)/.ready ## write the generated tables of the README and docs
	@$(RUN) python -m tests.generated_docs

bench: $(VENV)/.ready ## timings; never part of a test
	@$(RUN) python -m tests.bench

engine: $(VENV)/.ready ## start a container engine when none answers
	@$(RUN) .ci/engine

image: engine ## build the llama.cpp CPU image when it is missing
	@images/llamacpp-cpu/build

clean: ## remove caches and the virtual environment
	rm -rf $(VENV) .pytest_cache .mypy_cache .ruff_cache build dist .demo

.PHONY: help setup demo demo-acceptance test test-docker test-vllm test-aiperf lab lab-down lab-test lab-ci check format deploy golden schema engine-tables docs bench engine image clean
