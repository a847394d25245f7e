# pvark: every task of the project. `make` alone lists them.
export CARGO_TARGET_DIR := $(or $(CARGO_TARGET_DIR),$(CURDIR)/target)
export PVARK := $(CARGO_TARGET_DIR)/release/pvark
PYTHON := .venv/bin/python
PYTEST := $(PYTHON) -m pytest -rs

.PHONY: help setup demo run build check test ui journeys golden fuzz crash numbers figures ess retrieval keycloak clean

help: ## list the tasks
	@sed -nE 's/^([a-z]+):.*## (.*)/  make \1\t\2/p' Makefile | expand -t 16

setup: .make/system .make/python .make/protobuf7 .make/node .make/slapd ## install what is missing: system packages by name, .venv, node_modules

demo: setup build ## a real IOC with 100 PVs, all of them archived, and the page at http://127.0.0.1:17665/
	$(PVARK) demo --python $(PYTHON)

run: build ## the archiver on 127.0.0.1:17665, its data in ./pvark-data
	$(PVARK) run

build: ui/dist/index.html ## the program, optimised, with the page in it
	cargo build --release

check: setup ui/dist/index.html ## format, lints and types in all three languages
	cargo fmt --check && cargo clippy --workspace --all-targets -- -D warnings
	.venv/bin/ruff format --check clients tests && .venv/bin/ruff check . && .venv/bin/mypy
	cd ui && npm run --silent check

# One build for the program, the lab and the store's victim: apart, they want other features of crates that all three share.
# The build goes on while tests of the first part wait. Those of the system and of the page have the machine for themselves.
test: setup ui/dist/index.html ## all tests; what was skipped, and why, is printed after each part
	tools/beside.sh "cargo test --workspace" "cargo build --release -p pvark -p store -p lab --bins --example victim --features pvark/s3,pvark/cql"
	$(PYTEST) clients/python/tests
	cd ui && npm test
	$(PYTEST) -n 3 --dist loadfile tests/system

ui: .make/node ## the page with invented data, to look at while working on it
	cd ui && npm run build && npm run serve

journeys: setup build ## walk through the page of a real archiver as people do, the wall with three restarts; pictures go to target/journeys
	mkdir -p $(CARGO_TARGET_DIR)/journeys
	PVARK_RESTARTS=3 PVARK_SHOTS=$(CARGO_TARGET_DIR)/journeys $(PYTEST) -s tests/system/test_journeys.py

golden: ## rewrite the expected answers; read `git diff` before committing them
	UPDATE_GOLDEN=1 cargo test --workspace

fuzz: ## arbitrary bytes to each parser of foreign bytes, SECONDS=60 each (TARGET=name for one of them)
	tools/fuzz.sh $(or $(SECONDS),60) $(TARGET)

crash: setup build ## each call to the disk fails; the store is killed KILLS=1000 times (goes on after an interruption), the program 20 times
	PVARK_CRASH=all cargo test --release -p store --test suite faults::
	cargo build --release -p store --example victim
	$(PYTHON) tests/system/kill_loop.py --folder $(CARGO_TARGET_DIR)/kills --cycles $(or $(KILLS),1000)
	PVARK_KILL_CYCLES=20 $(PYTEST) -s tests/system/test_survives_kill.py

numbers: ## print COUNT=100000000 doubles of every kind and read each back; `make test` tries a million
	PVARK_NUMBERS=$(or $(COUNT),100000000) cargo test --release -p web --lib printed

figures: .make/rivals ## measure the store and its rivals and write docs/figures.md (SCALE=1 takes a quarter of an hour and 15 GB)
	cargo run --release -p lab -- figures --python $(PYTHON) --scale $(or $(SCALE),1)

ess: setup build ## measure acquisition beside the storage study of ESS and write docs/ess.md (SECONDS=4 a scenario; ten minutes; SCENARIO=AAPS-0620,… for some)
	cargo run --release -p lab -- study --python $(PYTHON) --seconds $(or $(SECONDS),4) $(addprefix --scenario ,$(SCENARIO))

retrieval: build ## measure answers over HTTP beside the retrieval study of ESS and write docs/retrieval.md (AGAINST=URL: another server too)
	ulimit -n "$$(ulimit -Hn)"; cargo run --release -p lab -- retrieval --page docs/retrieval.md $(if $(AGAINST),--against $(AGAINST))

keycloak: setup build ## log in by a real Keycloak, which Maven brings (180 MB, Java 17, a few minutes); `make test` has an OpenID provider of its own
	tools/setup-keycloak.sh && $(PYTEST) tests/keycloak

clean: ## remove what was built and installed here
	rm -rf .make .venv ui/node_modules ui/dist target

.make/system: tools/setup-system.sh ; tools/setup-system.sh && mkdir -p .make && touch $@
.make/slapd: tools/setup-slapd.sh ; mkdir -p .make && tools/setup-slapd.sh
.make/python: tools/requirements-test.txt clients/python/pyproject.toml .make/system ; python3 -m venv .venv && .venv/bin/pip install -q -r tools/requirements-test.txt -e clients/python && touch $@
.make/protobuf7: tools/requirements-protobuf7.txt .make/python ; .venv/bin/pip install -q --upgrade --no-deps --target $@ -r tools/requirements-protobuf7.txt && touch $@
.make/rivals: tools/requirements-rivals.txt .make/python ; .venv/bin/pip install -q -r tools/requirements-rivals.txt && touch $@
.make/node: ui/package-lock.json .make/system ; cd ui && npm ci --no-audit --no-fund && touch ../$@
ui/dist/index.html: .make/node $(shell git ls-files ui) ; cd ui && npm run --silent build
