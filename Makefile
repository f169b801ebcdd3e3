# The same verbs as the command line, with all set-up. `make help` lists them.
SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
SITE ?= lab-1
PYTHON := .venv/bin/python
UV_VERSION := 0.13.9
# Compiled modules are kept, and tests as pytest rewrites them: else each process compiles them anew,
# which takes a worker 13 s of processor time, and each Foresite that a test runs half a second.
unexport PYTHONDONTWRITEBYTECODE

.PHONY: help
help: ## List the targets
	@grep -hE '^[a-z-]+:.*##' $(MAKEFILE_LIST) | sed -E 's/:.*## /\t/' | expand -t 16

# uv where it is installed; else pip fetches it into the environment itself.
.venv/.ready: pyproject.toml uv.lock
	@echo "setting up Python and its packages in .venv (once; about 20 s and 500 MB)" >&2
	@if command -v uv >/dev/null; then uv sync --locked --quiet; \
	else \
	  python3 -c 'import sys; sys.exit(sys.version_info < (3, 11))' \
	    || { echo "Foresite needs Python 3.11 or newer; this is $$(python3 --version)" >&2; exit 2; }; \
	  test -x $(PYTHON) || python3 -m venv .venv; \
	  .venv/bin/python -m pip install --quiet --disable-pip-version-check uv==$(UV_VERSION); \
	  .venv/bin/uv sync --locked --quiet --inexact; \
	fi
	@touch $@

.PHONY: check render up preview plan down toolchain controlplane
check: .venv/.ready ## Report every problem of all sites, offline
	@$(PYTHON) -m foresite check

render: .venv/.ready ## Write the manifests of SITE into rendered/
	@$(PYTHON) -m foresite render $(SITE)

up: .venv/.ready ## Check and render SITE, then bring up an API server and apply it there
	@$(PYTHON) -m foresite check $(SITE)
	@$(PYTHON) -m foresite render $(SITE)
	@$(PYTHON) -m tools.toolchain ensure pulumi controlplane
	@$(PYTHON) -m controlplane up
	@$(PYTHON) -m foresite up --trial $(SITE)

preview: .venv/.ready ## What the change since main does to the machines of every site, offline
	@$(PYTHON) -m foresite preview

plan: .venv/.ready ## What `up` would do to SITE on the trial's API server
	@$(PYTHON) -m tools.toolchain ensure pulumi controlplane
	@$(PYTHON) -m controlplane up
	@$(PYTHON) -m foresite up --trial --preview $(SITE)

down: .venv/.ready ## Take the trial down and delete its data
	@$(PYTHON) -m controlplane down --wipe

# Tests that need a real part of another project, and the files that have them: a worker that reads
# only these starts in a few seconds.
REAL := controlplane or pulumi or editor or go or browser or capi or scheduling or cache or remediation or monitoring
empty :=
MARKS := $(subst $(empty) or $(empty),|,$(REAL))|proof
REAL_FILES = $(sort $(shell grep -rlE 'pytest\.mark\.($(MARKS))\b' --include='test_*.py' tests))
# They wait more than they compute, so there are more workers than processors.
WORKERS ?= 6
# Which long proofs run: share, all or none (docs/proof.md).
PROOF ?= share
RESULTS := bench/out/proof

# A machine that has no processor time for a while breaks what waits for another process. What fails
# is run once more, by itself and for all to see: it fails again where the behaviour is broken.
define tests
rm -f $(RESULTS)/$(1)*.xml; \
$(PYTHON) -m pytest --junitxml=$(RESULTS)/$(1).xml $(2) || { \
  echo "=== what has failed is run once more ===" >&2; \
  $(PYTHON) -m pytest --junitxml=$(RESULTS)/$(1)-again.xml --last-failed --last-failed-no-failures none $(2) $(3); \
}
endef

.PHONY: fast test real cache-server node-repair proof record lint generate bench
fast: .venv/.ready ## The tests that need only Python
	@$(call tests,fast,--proof=none -n auto --dist worksteal -m "not ($(REAL))")

lint: .venv/.ready ## Style and types
	@$(PYTHON) -m ruff check .
	@$(PYTHON) -m ruff format --check .
	@$(PYTHON) -m mypy

test: .venv/.ready ## All tests, with what they need; of the long proofs a share
	@rm -rf $(RESULTS)
	@$(MAKE) --no-print-directory --jobs=2 lint fast
	@$(PYTHON) -m tools.toolchain ensure
	@$(PYTHON) -m tests.kit.go_programs
	@status=0; \
	$(MAKE) --no-print-directory --jobs=2 --keep-going --output-sync real cache-server node-repair || status=$$?; \
	$(PYTHON) -m tests.measure.proof show; exit $$status

real: .venv/.ready ## The tests that need a real part of another project, side by side
	@$(call tests,real,--proof=$(PROOF) -n $(WORKERS) --dist loadfile -m "$(REAL) or proof" $(REAL_FILES),-n 0)

cache-server: .venv/.ready ## The tests of the cache server alone
	@$(call tests,cache-server,-p tests.kit.proof --proof=$(PROOF) -n 2 cache-server,-n 0)

node-repair: .venv/.ready ## The tests of the repair programs alone
	@$(call tests,node-repair,-p tests.kit.proof --proof=$(PROOF) node-repair)

proof: .venv/.ready ## All tests with every long proof, and mutations; hours
	@$(MAKE) --no-print-directory test PROOF=all
	@$(PYTHON) -m tests.measure.mutations

record: .venv/.ready ## Add what the last make test took to docs/proof.md and to the shares of proofs
	@$(PYTHON) -m tests.measure.proof record
	@$(PYTHON) -m tests.kit.proof_shares

images: ## Build the images that sites need, for amd64 and arm64; REGISTRY, VERSION
	@docker buildx bake --file images/docker-bake.json $(if $(PUSH),--push)

generate: .venv/.ready ## Make every generated file anew
	@$(PYTHON) -m schemas.editor
	@$(PYTHON) -m schemas.reference
	@$(PYTHON) -m policies.reference
	@$(PYTHON) -m tools.crds
	@$(PYTHON) -m tools.screens
	@$(PYTHON) -m tools.architecture

bench: .venv/.ready ## Measure Foresite against its rivals
	@$(PYTHON) -m tools.toolchain ensure pulumi controlplane scheduling given rivals
	@$(PYTHON) -m bench.offline
	@$(PYTHON) -m bench.preview
	@$(PYTHON) -m bench.engines
	@$(PYTHON) -m bench.engine
	@$(PYTHON) -m bench.stacks
	@$(PYTHON) -m bench.scheduling
