# Signpost. `make run` serves the whole stack on this machine; `make test` proves it. `make help` lists the rest.
SHELL := bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
PORT ?= 8765
export PATH := $(CURDIR)/.venv/bin:$(CURDIR)/.tools/sam/bin:$(PATH)
export SAM_CLI_TELEMETRY := 0
export AWS_DEFAULT_REGION ?= us-east-1
unexport VIRTUAL_ENV PYTHONPATH PYTHONHOME
SETUP := local/setup.sh
CLIENTS := clients-mcp1 clients-agents clients-langchain clients-pydantic-ai
SLOW_CLIENTS := clients-strands clients-semantic-kernel clients-autogen clients-crewai clients-adk clients-llama-index \
	clients-node
PEERS := bench-fastmcp bench-mcp-mangum bench-mcp-kernel bench-awslabs
TEST_TOOLS := sam emulator node aws $(CLIENTS) $(PEERS)
WORKERS ?= 4
ROUNDS ?= 15
WARM_ROUNDS ?= 5
PYTEST := python -m pytest --quiet --numprocesses=$(WORKERS) --dist=loadfile --no-loadscope-reorder
PYTHON_CODE := layers functions examples local tests bench

.PHONY: help run up down clean-cloud env test test-fast attacks clients prove check format build invoke sam-local sam-local-shell acceptance scenarios bench bench-search conformance cost pictures requirements

help: ## this list
	@sed -n 's/^\([a-z-]*\):.*## /\1\t/p' $(MAKEFILE_LIST) | expand -t 15

run: ## the stack on this machine, in the foreground (PORT=8765)
	@$(SETUP) dev sam emulator
	@python -m local run --port $(PORT)

up: ## the same in the background
	@$(SETUP) dev sam emulator
	@python -m local up --port $(PORT)

down: ## stop what `make up` started; the data stays
	@$(SETUP) dev
	@python -m local down

clean-cloud: ## stop it and drop its data
	@$(SETUP) dev
	@python -m local clean

env: ## lines for your shell: `eval "$(make env)"` points aws and signpost commands at the running stack
	@python -m local env

ifneq ($(CHANGED),)
test: # what the change since BASE (HEAD) can affect, without the cloud (EXPLAIN=1 says why, CLOUD=1 takes the cloud too)
	@$(SETUP) dev $(if $(CLOUD),$(TEST_TOOLS))
	@python -m local.affected $(if $(BASE),--base "$(BASE)") $(if $(CLOUD),--cloud) $(if $(EXPLAIN),--explain) \
		$(filter-out python -m pytest,$(PYTEST))
else ifneq ($(REPEAT),)
test: # these tests so many times (LOAD=1 keeps all cores busy meanwhile)
	$(if $(PATHS),,$(error REPEAT needs tests: make test REPEAT=$(REPEAT) PATHS="tests/a.py tests/b.py::test_c"))
	@$(SETUP) dev $(TEST_TOOLS)
	@python -m local.repeat --times "$(REPEAT)" $(if $(LOAD),--load) $(PATHS)
else ifneq ($(PATHS),)
test: # these tests once
	@$(SETUP) dev $(TEST_TOOLS)
	@python -m pytest $(PATHS)
else
test: ## everything; or PATHS=, REPEAT=, CHANGED=1: see docs/testing.md
	@$(SETUP) dev $(TEST_TOOLS)
	@$(MAKE) --jobs=2 --output-sync=target bench check invoke ROUNDS=9 WARM_ROUNDS=3
	@$(PYTEST) --cov --cov-report=
	@coverage report
endif

test-fast: ## what needs no cloud, in two minutes
	@$(SETUP) dev
	@$(PYTEST) -m "not cloud"

attacks: ## published attacks, each with a control without its defence; writes the scorecard (ONLY=A9)
	@$(SETUP) dev sam emulator
	@python -m tests.attacks $(if $(ONLY),--only "$(ONLY)")

clients: ## agent frameworks drive a workflow with the blocks of docs/clients.md; writes their table (ONLY=CrewAI)
	@$(SETUP) dev sam emulator node $(CLIENTS) $(SLOW_CLIENTS)
	@python -m tests.frameworks $(if $(ONLY),--only "$(ONLY)")

prove: ## everything exhaustive, as long as it takes; goes on where it stopped (FRESH=1 begins anew)
	@$(SETUP) dev $(TEST_TOOLS)
	@python -m local.prove $(if $(FRESH),--fresh) --workers $(WORKERS)

check: ## format, lint, types, import contracts, template, limits of AWS
	@$(SETUP) dev sam node
	ruff format --check $(PYTHON_CODE)
	ruff check $(PYTHON_CODE)
	.tools/node/node_modules/.bin/pyright
	lint-imports --no-logo
	sam validate
	sam validate --lint
	.tools/sam/bin/python -m local.lint

format: ## the formatter and the linter's fixes
	@$(SETUP) dev
	ruff format --quiet $(PYTHON_CODE)
	ruff check --fix $(PYTHON_CODE)
	ruff format $(PYTHON_CODE)

build: ## functions and layer into .aws-sam/build (ARCHITECTURE=x86_64 for this parameter of the template)
	@$(SETUP) dev sam
	sam build$(if $(ARCHITECTURE), --parameter-overrides Architecture=$(ARCHITECTURE))

invoke: ## the files of events/ on the real Lambda runtime client
	@$(SETUP) dev sam emulator
	@python -m local.invoke

sam-local: ## the same by `sam local invoke` in containers of Docker or podman, and its start-api
	@$(SETUP) dev sam emulator
	@python -m local.sam_local

sam-local-shell: ## a shell in which SAM's local commands reach a stack of their own
	@$(SETUP) dev sam emulator
	@python -m local.sam_local --shell

acceptance: ## the cases against a deployed test stage (REGISTRY_CASES=file, WORKFLOW_CASES=file)
	@$(SETUP) dev sam emulator
	@python -m tests.acceptance $(if $(REGISTRY_CASES),--registry "$(REGISTRY_CASES)") $(if $(WORKFLOW_CASES),--workflow "$(WORKFLOW_CASES)") $(if $(FACTOR),--factor $(FACTOR))

scenarios: ## how many acceptance scenarios are tests, and what stands in the place of the others
	@$(SETUP) dev
	@python -m tests.docs.scenario_counts

bench: ## cold starts and warm calls against their bars, beside other servers
	@$(SETUP) dev sam $(PEERS)
	@python -m bench --rounds $(ROUNDS) --warm-rounds $(WARM_ROUNDS)

bench-search: ## both rankings of search, judged by retrieval data (DATA=folder)
	@$(SETUP) dev bench-fastmcp
	@python -m bench.search $(DATA)

cost: ## what a deployment costs, idle and per call
	@$(SETUP) dev
	@python -m bench.cost

conformance: ## the official MCP conformance suite against the deployed test stage
	@$(SETUP) dev sam emulator node
	@python -m pytest -rP tests/conformance

pictures: ## the pictures of the examples, anew from their manifests
	@$(SETUP) dev
	@python -m local.pictures

requirements: ## compile the pins anew from pyproject.toml and requirements/*.in
	@$(SETUP) dev
	@local/pins.sh
