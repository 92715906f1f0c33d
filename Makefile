# Every task of the project. On a machine with git, make and Python 3.11 or newer `make setup` is all
# that is needed: it wants no pip, no root, and no index but the one your pip settings name.

.DEFAULT_GOAL := help
MAKEFLAGS += --no-print-directory
# Every test starts many short processes: without compiled modules each would compile all of them anew.
unexport PYTHONDONTWRITEBYTECODE

BIN := .venv/bin
# The system's own Python comes first where it is new enough: distributions build it with profile-guided optimization,
# which version managers leave out by default, and everything in this project then takes a third more processor time.
PYTHONS := $(PYTHON) /usr/bin/python3 python3 python3.11 python3.12 python3.13 python3.14
WORKERS ?= 3
ARGS ?=
UPGRADE ?=

# $(call bootstrap,level): run the first of $(PYTHONS) that is new enough, and not a minimal one, on bootstrap.py.
define bootstrap
for python in $(PYTHONS); do \
  if $$python -c 'import ssl, sys, venv; sys.exit(sys.version_info < (3, 11))' >/dev/null 2>&1; then \
    exec $$python tools/bootstrap/bootstrap.py $(1); \
  fi; \
done; \
echo "setup: Python 3.11 or newer is needed and none was found; install python3.11, or name one: make setup PYTHON=/path/to/python3" >&2; \
exit 1
endef

# $(call quietly,name,command): say what is checked; show the command's own words only if it fails.
define quietly
printf 'check: %s\n' '$(1)'; words=$$($(BIN)/$(2) 2>&1) || { printf '%s\n' "$$words"; exit 1; }
endef

# Versions and hashes only: a lock names no index and no place, so that it fits every machine.
LOCK := $(BIN)/uv pip compile --quiet --universal --python-version 3.11 --generate-hashes \
  --no-emit-index-url --no-header --no-annotate $(if $(UPGRADE),--upgrade)

.PHONY: help
help: ## list these tasks
	@sed -n 's/^\([a-z-]*\):.*## /  make \1\t/p' Makefile | expand -t 21

.PHONY: setup
setup: ## make .venv with the stateward command in it
	@$(call bootstrap,run)

.PHONY: setup-dev
setup-dev: setup
	@$(call bootstrap,dev)

.PHONY: run
run: setup ## show Stateward at work on sample documents; at a terminal, then serve the console on them
	@$(BIN)/stateward demo
	@[ ! -t 1 ] || { echo; echo 'Now in your browser, until Ctrl-C:'; exec $(BIN)/stateward --data stateward-demo up; }

.PHONY: test
test: setup-dev ## run the tests; ARGS="tests/storage -k late" picks some
	@$(BIN)/pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder $(ARGS)

.PHONY: test-long
test-long: setup-dev ## run the tests that are too long for `make test`: more seeds, every machine, every store
	@$(BIN)/pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder -m "long or hypothesis" --hypothesis-profile "other examples" $(ARGS)

.PHONY: test-failed
test-failed: setup-dev ## run the tests that failed last time again, one after the other
	@$(BIN)/pytest -n 0 --last-failed --last-failed-no-failures none

.PHONY: coverage
coverage: lint ## run every test and see that they reach all of the code, which takes half as long again
	@rm -f .coverage .coverage.*
	@$(BIN)/pytest -n $(WORKERS) --dist loadfile --no-loadscope-reorder --cov --cov-report=term $(ARGS)

.PHONY: check
check: lint ## check format, style, types, layers, spelling, declared dependencies and what is known against them
	@$(call quietly,dependencies,deptry .)
	@$(BIN)/python tools/supply_chain/supply_chain.py advisories

.PHONY: sbom
sbom: setup ## write the bill of materials of the locked dependencies (CycloneDX) to build/sbom.cdx.json
	@$(BIN)/python tools/supply_chain/supply_chain.py sbom build/sbom.cdx.json

.PHONY: lint
lint: setup-dev
	@$(call quietly,format,ruff format --check .)
	@$(call quietly,style,ruff check .)
	@$(call quietly,types,mypy)
	@$(call quietly,layers,lint-imports)
	@$(call quietly,spelling,codespell)

.PHONY: format
format: setup-dev ## lay out the code and mend what can be mended without thought
	@$(BIN)/ruff format --quiet .
	@$(BIN)/ruff check --quiet --fix .

.PHONY: lock
lock: setup-dev ## write requirements/ anew from pyproject.toml; UPGRADE=1 takes the newest versions
	@$(LOCK) --output-file requirements/run.txt --constraints requirements/limits.in --extra all pyproject.toml
	@$(LOCK) --output-file requirements/build.txt --constraints requirements/run.txt --group build
	@$(LOCK) --output-file requirements/dev.txt --constraints requirements/limits.in --constraints requirements/run.txt \
	  --constraints requirements/build.txt --group dev --extra all pyproject.toml
	@$(LOCK) --output-file requirements/uv.txt --constraints requirements/dev.txt --group uv
	@$(LOCK) --output-file requirements/docs.txt --group docs
	@$(LOCK) --output-file requirements/bench.txt --group bench

.PHONY: docs
docs: ## build the documentation site into site/, with search and API reference; broken links fail
	@$(call bootstrap,docs)
	@NO_MKDOCS_2_WARNING=1 .venv-docs/bin/mkdocs build --strict --quiet --site-dir site
	@echo 'docs: open site/index.html'

.PHONY: bench
bench: setup-dev ## measure beside hand-written SQL and peers, into docs/explanation/benchmarks.md; RECORDS= ROUNDS=
	@$(call bootstrap,bench)
	@$(BIN)/python -m lab.bench table docs/explanation/benchmarks.md --peers .venv-bench/bin/python \
	  $(if $(RECORDS),--records $(RECORDS)) $(if $(ROUNDS),--rounds $(ROUNDS))

.PHONY: bench-growth
bench-growth: setup-dev ## measure with up to a million finished records, into docs/explanation/scale.md; SIZES=10000,100000
	@$(BIN)/python -m lab.bench growth docs/explanation/scale.md \
	  $(if $(SIZES),--sizes $(SIZES)) $(if $(ROUNDS),--rounds $(ROUNDS))

.PHONY: bench-lanes
bench-lanes: setup-dev ## measure coordinators side by side, each 5 ms from its PostgreSQL, into docs/explanation/scale.md; RECORDS=
	@$(BIN)/python -m lab.bench.lanes docs/explanation/scale.md $(if $(RECORDS),--records $(RECORDS))

.PHONY: scale
scale: setup-dev ## measure backup, verify, retention and pages on a long history, into docs/explanation/scale.md; RECORDS=10000000 FOLDER=/var/tmp/scale
	@$(BIN)/python -m lab.scale docs/explanation/scale.md $(if $(RECORDS),--records $(RECORDS)) $(if $(FOLDER),--folder $(FOLDER))

.PHONY: bench-console
bench-console: setup-dev ## measure the console's pages on a million records in PostgreSQL, into docs/explanation/console-speed.md; RECORDS=
	@$(BIN)/python -m lab.bench.console docs/explanation/console-speed.md $(if $(RECORDS),--records $(RECORDS))

.PHONY: screenshots
screenshots: setup-dev ## draw every page of the console, light and dark, into screenshots/; refresh those that the pages show
	@$(BIN)/python -m tests.console.screenshots screenshots
	@for drawn in screenshots/console-*.png; do shown="docs/images/$${drawn##*/}"; [ ! -e "$$shown" ] || cp "$$drawn" "$$shown"; done

.PHONY: ledger-bench
ledger-bench: setup-dev ## measure the ledger beside SQLite, LMDB and plain files, into docs/explanation/ledger-speed.md; LARGE=1 for 10 M documents
	@$(call bootstrap,bench)
	@$(BIN)/python -m lab.bench.ledger docs/explanation/ledger-speed.md $(if $(LARGE),--large)

.PHONY: load
load: setup-dev ## send uploads over HTTP steadily and in a burst, on PostgreSQL, into docs/explanation/load.md; RATE=150 SECONDS=60 BURST=10000
	@$(BIN)/python -m lab.load --rate $(or $(RATE),150) --seconds $(or $(SECONDS),60) \
	  --burst $(or $(BURST),10000) $(if $(RATE)$(SECONDS)$(BURST),,--page docs/explanation/load.md)

.PHONY: load-connections
load-connections: setup-dev ## upload while many clients are silent or slow, into docs/explanation/load.md; IDLE=2000 SLOW=200 UNREAD=0 RATE=50 SECONDS=20
	@$(BIN)/python -m lab.connections --idle $(or $(IDLE),2000) --slow $(or $(SLOW),200) --unread $(or $(UNREAD),0) \
	  --rate $(or $(RATE),50) --seconds $(or $(SECONDS),20) \
	  $(if $(IDLE)$(SLOW)$(UNREAD)$(RATE)$(SECONDS),,--page docs/explanation/load.md)

.PHONY: eval-statements
eval-statements: setup-dev ## read exports and PDFs of ninety banks, and layouts that never existed; ARGS="--seed 5000 --count 2000 --only pdf"
	@$(BIN)/python -m lab.documents.banks.score $(ARGS)

.PHONY: eval-literature
eval-literature: setup ## compare the papers of DIR with their truth, or with what their XML says
	@$(BIN)/stateward eval literature "$(or $(DIR),../shared/corpus/literature)"

.PHONY: simulate
simulate: setup-dev ## run simulated histories with crashes and every other fault; SEEDS=10000 FROM=0, or SEED=4711 for one
	@$(BIN)/python -m lab.simulation $(if $(SEED),--seed $(SEED),--seeds $(or $(SEEDS),1000) --from $(or $(FROM),0))

.PHONY: chaos
chaos: setup-dev ## kill, stop, cut off and fill up real processes, into docs/explanation/chaos.md; ROUNDS=50 ONLY=kill-worker,cut
	@$(BIN)/python -m lab.chaos --rounds $(or $(ROUNDS),50) $(if $(ONLY),--only $(ONLY)) $(if $(SEED),--seed $(SEED)) \
	  $(if $(ONLY),,--page docs/explanation/chaos.md)

.PHONY: disk-faults
disk-faults: setup-dev ## fail every single write and sync of the store and of documents, by a seam and by strace
	@DISK_FAULTS=every $(BIN)/pytest -n $(WORKERS) tests/faults $(ARGS)

.PHONY: ledger-proof
ledger-proof: setup-dev ## cut, damage, fill up and kill a ledger in every way, into docs/explanation/ledger-proof.md; QUICK=1 ONLY="crash kill"
	@$(BIN)/python -m tests.ledger.proof $(ONLY) --jobs 2 $(if $(QUICK),--quick) $(if $(ONLY)$(QUICK),,--page docs/explanation/ledger-proof.md)

.PHONY: changelog
changelog: setup-dev ## gather changes/ into CHANGELOG.md for VERSION=1.2.3
	@test -n "$(VERSION)" || { echo 'changelog: name the version: make changelog VERSION=1.2.3' >&2; exit 1; }
	@$(BIN)/towncrier build --yes --version "$(VERSION)"

.PHONY: clean
clean: ## remove .venv and everything that the tools left behind
	@rm -rf .venv .venv-docs .venv-bench dist site .mypy_cache .ruff_cache .pytest_cache .import_linter_cache .hypothesis
	@rm -f .coverage .coverage.*
	@find src tests tools -name __pycache__ -type d -prune -exec rm -rf {} +
