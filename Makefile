# pvark: every task of the project. `make` alone lists them.
TARGET := $(or $(CARGO_TARGET_DIR),$(CURDIR)/target)
PVARK  := $(TARGET)/release/pvark
PYTHON := .venv/bin/python
PYTEST := PVARK=$(PVARK) $(PYTHON) -m pytest -rs
export CARGO_TARGET_DIR := $(TARGET)

.PHONY: help setup demo run build check test test-rust test-python test-ui test-system ui golden fuzz crash figures clean

help: ## list the tasks
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' Makefile | expand -t 20

setup: .make/system .make/python .make/node ## install what is missing: system packages, .venv, node_modules

demo: setup build ## a real IOC with 100 PVs, all of them archived, and the page at http://127.0.0.1:17665/
	$(PVARK) demo --python $(PYTHON)

run: build ## the archiver on 127.0.0.1:17665, data in ./pvark-data
	$(PVARK) run

build: ui/dist/index.html ## the program, optimised, with the page in it
	cargo build --release

check: setup ui/dist/index.html ## format, lints and types in all three languages
	cargo fmt --check
	cargo clippy --workspace --all-targets -- -D warnings
	.venv/bin/ruff check .
	.venv/bin/mypy
	cd ui && npm run --silent check

test: setup build test-rust test-python test-ui test-system ## all tests; says at the end what was skipped and why

test-rust: ## tests of the crates, which need neither network nor Python
	cargo test --workspace

test-python: .make/python ## tests of the Python client
	$(PYTEST) clients/python/tests

test-ui: .make/node ## tests of the page
	cd ui && npm test

test-system: setup build ## the program against real IOCs and real clients
	$(PYTEST) tests/system

ui: .make/node ## the page alone, rebuilt on change, talking to a running archiver
	cd ui && npm run dev

golden: ## rewrite the expected answers; look at `git diff` before committing them
	UPDATE_GOLDEN=1 cargo test --workspace

fuzz: ## long property tests of everything that reads foreign bytes (CASES=n)
	PROPTEST_CASES=$(or $(CASES),50000) cargo test --release -p epics -p store

crash: setup build ## kill -9 under load, 20 times
	PVARK_KILL_CYCLES=20 $(PYTEST) tests/system/test_survives_kill.py

figures: ## measure what docs/figures.md claims
	cargo run --release -p lab -- store

clean: ## remove what was built and installed here
	rm -rf .make .venv ui/node_modules ui/dist $(CURDIR)/target

.make/system: tools/setup-system.sh ; tools/setup-system.sh && mkdir -p .make && touch $@
.make/python: tools/requirements-test.txt clients/python/pyproject.toml .make/system
	python3 -m venv .venv && .venv/bin/pip install -q -r tools/requirements-test.txt -e clients/python && touch $@
.make/node: ui/package-lock.json .make/system ; cd ui && npm ci --no-audit --no-fund && touch ../$@
ui/dist/index.html: .make/node $(shell find ui -path ui/node_modules -prune -o -path ui/dist -prune -o -type f -print) ; cd ui && npm run build
