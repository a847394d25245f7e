# pvark: every task of the project. `make` alone lists them.
export CARGO_TARGET_DIR := $(or $(CARGO_TARGET_DIR),$(CURDIR)/target)
export PVARK := $(CARGO_TARGET_DIR)/release/pvark
PYTHON := .venv/bin/python
PYTEST := $(PYTHON) -m pytest -rs

.PHONY: help setup demo cluster-demo run build with-clusters check test test-cargo build-tests build-tested cluster cluster-load cluster-faults cluster-older ui journeys pace golden fuzz crash numbers figures ess retrieval keycloak clean

help: ## list the tasks
	@sed -nE 's/^([a-z-]+):.*## (.*)/  make \1\t\2/p' Makefile | expand -t 24

setup: .make/system .make/python .make/protobuf7 .make/node .make/slapd ## install what is missing: system packages by name, .venv, node_modules

demo: setup build ## a real IOC with 100 PVs, all of them archived, and the page at http://127.0.0.1:17665/
	$(PVARK) demo --python $(PYTHON)

cluster-demo: setup with-clusters ## the same IOC, recorded by three nodes on three nodes of Cassandra (Java 17 and mvn; 4 GB, two minutes until it runs)
	tools/cassandra.sh with 3 $(PYTHON) tools/cluster_demo.py

run: build ## the archiver on 127.0.0.1:17665, its data in ./pvark-data
	$(PVARK) run

build: ui/dist/index.html ## the program, optimised, with the page in it
	cargo build --release

with-clusters: ui/dist/index.html # the same, and it can be a node of a cluster
	cargo build --release --features s3,cql

check: setup ui/dist/index.html ## format, lints and types in all three languages
	cargo fmt --check && cargo clippy --workspace --all-targets -- -D warnings
	.venv/bin/ruff format --check clients tests && .venv/bin/ruff check . && .venv/bin/mypy
	cd ui && npm run --silent check

# Two things at a time: the tests of cargo are built while Python's packages come, and run while the program is built that the others test;
# four of these at a time, as each waits as long as it works.
# Those of the page have the machine for themselves, and then those of Python and of the system, which mostly wait, five at a time. What
# fails of these beside others runs once more alone: the first failure stays in the output, to be looked into.
test: .make/system ui/dist/index.html ## all tests; what was skipped, and why, is printed after each part
	$(MAKE) --no-print-directory -j2 test-cargo build-tested
	cd ui && npm test
	$(PYTEST) -n 5 --dist loadfile --durations=10 || $(PYTEST) --last-failed --last-failed-no-failures none

test-cargo: build-tests setup
	MAKEFLAGS= RUST_TEST_THREADS=4 cargo test --workspace --tests --examples

build-tests:
	MAKEFLAGS= cargo test --workspace --tests --examples --no-run

# One build for the program, the lab and the store's victim: apart, they want other features of crates that all three share.
build-tested: setup
	MAKEFLAGS= cargo build --quiet --release -p pvark -p store -p lab --bins --example victim --features pvark/s3,pvark/cql

cluster: setup with-clusters ## what concerns several nodes, on three real nodes of Cassandra, some of which are killed (Java 17 and mvn; ten minutes)
	tools/cassandra.sh with 3 sh -c "cargo test -p cql --test cassandra && $(PYTEST) tests/system/test_cluster.py tests/system/test_cluster_cql.py"
	PVARK_CASSANDRA_AUTHENTICATOR=PasswordAuthenticator tools/cassandra.sh with 1 $(PYTEST) tests/system/test_cluster_password.py
	PVARK_CASSANDRA_TLS=1 tools/cassandra.sh with 1 $(PYTEST) tests/system/test_cluster_tls.py

cluster-load: setup with-clusters ## 25,000 PVs once a second on three nodes and three of Cassandra, MINUTES=10, KILLS=20: figures beside their bars
	cargo build --release -p lab --bins
	PVARK_LOAD_MINUTES=$(or $(MINUTES),10) PVARK_LOAD_KILLS=$(or $(KILLS),20) tools/cassandra.sh with 3 $(PYTEST) -s tests/system/test_cluster_load.py

cluster-faults: setup with-clusters ## three nodes on three of Cassandra while these are killed, paused, cut off and filled, MINUTES=60; every update is accounted for
	tools/cassandra.sh fetch # there is nothing but loopback behind this
	PVARK_FAULT_MINUTES=$(or $(MINUTES),60) tools/apart.sh tools/cassandra.sh with 3 $(PYTEST) -s tests/system/test_cluster_faults.py

cluster-older: setup with-clusters ## three nodes of which some run the program of an earlier revision, REV=…, built for it (moto; twelve minutes)
	older=$$(tools/older.sh $(REV)) && PVARK_OLDER=$$older $(PYTEST) tests/system/test_cluster_older.py

ui: .make/node ## the page with invented data, to look at while working on it
	cd ui && npm run build && npm run serve

journeys: setup build ## walk through the page of a real archiver as people do, the wall with three restarts, and attack it from four sites; pictures go to target/journeys
	mkdir -p $(CARGO_TARGET_DIR)/journeys
	PVARK_RESTARTS=3 PVARK_SHOTS=$(CARGO_TARGET_DIR)/journeys $(PYTEST) -s tests/system/test_journeys.py
	PVARK_ATTACKS=all $(PYTEST) tests/system/test_browser_attacks.py

pace: setup build ## what the page takes of a browser beside its bars: ten years at 1 Hz, a year at 10 Hz, MINUTES=60 live and on a wall, a day at 100 times the speed (SCALE=1 takes 4 GB)
	cargo build --release -p lab --bins
	PVARK_PACE_STRICT=1 PVARK_PACE_SCALE=$(or $(SCALE),1) PVARK_PACE_MINUTES=$(or $(MINUTES),60) PVARK_PACE_FOLDER=$(CARGO_TARGET_DIR)/pace $(PYTEST) -s tests/system/test_pace.py

golden: .make/node ## rewrite the expected answers; read `git diff` before committing them
	UPDATE_GOLDEN=1 cargo test --workspace
	cd ui && npm run --silent goldens

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
