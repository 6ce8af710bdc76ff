# `make demo` and `make test` need Go only; `make check` also gcc and Node (CONTRIBUTING.md).
GO      ?= go
# The same everywhere, so that what was compiled for the tests serves the programs, too. Without gRPC's traces for the
# eye, whose templates keep every method of a program alive: a sixth of accountctl's size.
export GOFLAGS ?= -trimpath -tags=grpcnotrace
export CGO_ENABLED ?= 0
FUZZTIME ?= 10s
# Fuzzed by default: what reads bytes from outside, and the answers over the whole
# range of parameters, whose hardest inputs take a second under instrumentation.
FUZZPKGS ?= ./internal/audit ./internal/interchange ./internal/interchange/pickle ./internal/persist ./internal/record ./internal/wire ./internal/wire/questions ./internal/wire/wirejson ./internal/pld/lattice ./internal/accountant
# Property tests draw the same cases each time; make search draws others.
RAPID_SEED ?= 1
TESTED   = $(shell $(GO) list -f '{{.ImportPath}} {{.TestImports}} {{.XTestImports}}' $(1) | grep $(2) 'pgregory.net/rapid' | cut -d' ' -f1)
# Ten minutes for a package, Go's own limit, are over where a machine has much else to do.
PATIENT  = -timeout 1h
SEED     = -rapid.seed=$(RAPID_SEED)
RACED    = ./cmd/accountantd ./client/... ./internal/keeper/... ./internal/persist/... ./internal/server/...

.PHONY: build demo test test-all search run race soak soak-fleet fuzz lint proto generate docs breaking check bench-peers test-interchange bench-load check-deploy install release try-release paths

build: ## the two commands, in bin/
	$(GO) build -o bin/ ./cmd/...

# With empty caches it compiles for minutes, and says so every ten seconds.
demo: ## a DP-SGD run on real digits, every step in the ledger
	@echo "building the daemon, accountctl and the demonstration; the first time this takes a few minutes"
	@(while sleep 9 >/dev/null 2>&1; do echo "still downloading or compiling ($$(date +%T))"; done) & beat=$$!; \
	  $(GO) build -o bin/ ./cmd/... ./examples/digits; built=$$?; kill $$beat; exit $$built
	@bin/digits -demo -accountantd bin/accountantd

test: ## the tests of every package, without the longest ones and with fewer random cases; no C compiler needed
	@$(MAKE) --no-print-directory test-all SHORT=-short CASES=-rapid.checks=50
	@echo "make test: the tests of every package passed; make test-all also runs the longest ones"

# What waits, for a database or a time limit, leaves the processors to other tests.
SIDE_BY_SIDE = -p 3 -parallel 6
SHORT ?=
CASES ?=
test-all: ## every test with all of its cases
	@$(GO) test $(SHORT) $(SIDE_BY_SIDE) $(PATIENT) $(call TESTED,./...,-v)
	@$(GO) test $(SHORT) $(SIDE_BY_SIDE) $(PATIENT) $(call TESTED,./...,-e) $(SEED) $(CASES)

SEARCHED ?= ./internal/pld/lattice ./internal/accountant ./internal/loss/kinds
search: ## for MINUTES, property tests with new seeds and the fuzzers of the mathematics (SEARCHED), in turns
	GO=$(GO) tools/search.sh $(MINUTES) $(SEARCHED)

run: build ## a standing daemon with its data in ./data
	bin/accountantd --data ./data

# Races show in how goroutines meet, not in how many cases a test has: it has all of them in test-all.
race: ## the rooms with concurrency under the race detector, without the longest tests
	CGO_ENABLED=1 $(GO) test -race -short $(PATIENT) $(call TESTED,$(RACED),-v)
	CGO_ENABLED=1 $(GO) test -race -short $(PATIENT) $(call TESTED,$(RACED),-e) $(SEED) -rapid.checks=50

KILLS ?= 3000

soak: ## the daemon killed KILLS times under load, KILLS times while datasets change, KILLS/10 while entries leave (3,000: 2 h)
	ACCOUNTANT_KILL_ROUNDS=$(KILLS) $(GO) test ./cmd/accountantd -count 1 -timeout 24h -v -run '^(TestKillRounds|TestDatasetKillRounds|TestColdKillRounds)$$'

.PHONY: readers
readers: ## a daemon under a limit of 512 MiB, asked for more than that in seven ways (six minutes)
	ACCOUNTANT_READERS=all $(GO) test ./cmd/accountantd -count 1 -timeout 1h -v -run '^TestReaders$$'

FAILOVERS ?= 5

.PHONY: failovers

failovers: ## the primary lost FAILOVERS times under load (a minute each; needs PostgreSQL, Patroni, etcd; with haproxy once more)
	FAILOVERS=$(FAILOVERS) $(GO) test ./cmd/accountantd -count 1 -timeout 24h -v -run '^(TestFailovers|TestFailoversBehindHAProxy|TestFailoverLosses)$$'

MINUTES ?= 1
soak-fleet: ## for MINUTES, three daemons on PostgreSQL with a standby that are killed, stopped, cut off and failed over
	ACCOUNTANT_FLEET_MINUTES=$(MINUTES) $(GO) test ./cmd/accountantd -count 1 -timeout 24h -v -run '^TestFleetSoak$$'

fuzz: ## each fuzz target for FUZZTIME
	@set -e; for pkg in $$($(GO) list $(FUZZPKGS)); do \
	  for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
	    GO=$(GO) tools/fuzz.sh $$pkg $$target $(FUZZTIME); \
	  done; done

lint: bin/golangci-lint ## golangci-lint
	bin/golangci-lint run ./...

bin/golangci-lint: tools/lint/go.sum
	cd tools/lint && $(GO) build -o ../../bin/golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint

# The database comes as a Go module, so that the proxy of modules is all that this asks. It goes by go.mod's toolchain.
.PHONY: vulnerabilities
vulnerabilities: ## known vulnerabilities of the modules and of Go that the code can reach, by govulncheck
	db=$$($(GO) mod download -json golang.org/x/vulndb@latest | sed -n 's/.*"Dir": "\(.*\)",/\1/p') && \
	  GOTOOLCHAIN=auto $(GO) run golang.org/x/vuln/cmd/govulncheck@v1.9.0 -db "file://$$db/data/osv" ./...

BUF = tools/buf/node_modules/.bin/buf

# Without a lock file: it would have to name every platform's binary, and a
# registry need not carry all of them. The version is pinned exactly.
$(BUF): tools/buf/package.json
	cd tools/buf && npm install --no-package-lock --no-audit --no-fund
	@touch $@

proto: $(BUF) ## lint, format and breaking changes of the protos
	$(BUF) lint
	$(BUF) format --diff --exit-code
	$(BUF) breaking --against proto/testdata/released.binpb

check-deploy: ## deploy/: manifests against Kubernetes' schemas, the alerts by promtool, the unit by systemd (needs Python)
	deploy/check.sh

generate: $(BUF) ## gen/ from proto/
	$(BUF) generate

docs: ## docs/mechanisms.md from the protos and the accountant's answers, docs/cli.md from the help, outputs in the pages
	$(GO) run ./docs/mechanisms internal/mechanism/kinds.go
	$(GO) run ./docs/mechanisms
	$(GO) test ./cmd/accountctl -run 'TestReference|TestPages' -update
	$(GO) test ./internal/server/gate -run TestTableOfMethods -update

PREFIX ?= /usr/local
PLATFORMS ?=

install: build ## the two commands into $(DESTDIR)$(PREFIX)/bin
	install -d $(DESTDIR)$(PREFIX)/bin
	install -m 755 bin/accountantd bin/accountctl $(DESTDIR)$(PREFIX)/bin

release: tools/release/.venv/ready ## archives, packages, wheels, SBOMs and checksums of all platforms, in dist/
	cd tools/release && $(GO) build -o ../../bin/release .
	PATH="$(CURDIR)/tools/release/.venv/bin:$$PATH" bin/release --platforms "$(PLATFORMS)"

.PHONY: wheel
wheel: tools/release/.venv/ready ## the Python package with the programs for this machine, in dist/ (two minutes; make release makes all)
	cd tools/release && $(GO) build -o ../../bin/release .
	PATH="$(CURDIR)/tools/release/.venv/bin:$$PATH" bin/release --dirty --only-wheel --platforms "$$($(GO) env GOOS)_$$($(GO) env GOARCH)"
	@ls $(CURDIR)/dist/*.whl

paths: ## three new users' first pages of docs/, walked with the wheel in dist/ in an empty root
	$(PYTHON) tools/paths/run.py $(UPDATE)

try-release: ## what make release made for this machine, tried from empty directories
	tools/release/try.sh dist

tools/release/.venv/ready: tools/release/requirements.txt
	python3 -m venv tools/release/.venv
	tools/release/.venv/bin/pip install -q -r tools/release/requirements.txt
	touch $@

check: ## all that .ci/run does
	.ci/run

PEERS = bench/peers/.venv

# Some without what they depend on: their accountants need neither torch nor jax.
BARE_PEERS = '^opacus\|^jax-privacy\|^riskcal'
$(PEERS)/ready: bench/peers/requirements.txt
	python3 -m venv $(PEERS)
	grep -v $(BARE_PEERS) $< | $(PEERS)/bin/pip install -q -r /dev/stdin
	grep $(BARE_PEERS) $< | $(PEERS)/bin/pip install -q --no-deps -r /dev/stdin
	@touch $@

bench-peers: build $(PEERS)/ready ## public accountants beside accountctl: docs/benchmarks.md, bench/peers/results.md (half an hour)
	$(PEERS)/bin/python bench/peers/run.py --accountctl bin/accountctl

.PHONY: conformance conforms
conformance: build $(PEERS)/ready ## every case of conformance/ asked of every accountant: docs/conformance.md (ten minutes)
	ACCOUNTCTL=bin/accountctl $(PEERS)/bin/python -m conformance.check --write

conforms: build ## every case of conformance/ asked of accountctl
	ACCOUNTCTL=bin/accountctl $(PYTHON) -m conformance.check --only accountctl

test-interchange: build $(PEERS)/ready ## import and export against the real dp_accounting and Opacus (minutes)
	$(PEERS)/bin/python bench/peers/interchange.py check --accountctl bin/accountctl

# A program without accounting to compare with (bench/load/compare.py); none: only ours.
BARE ?=

bench-load: build ## reports under load: rates, latencies and CPU, for docs/benchmarks.md
	$(GO) build -o bin/load ./bench/load
	python3 bench/load/compare.py --accountantd bin/accountantd --load bin/load $(if $(BARE),--bare $(BARE))

.PHONY: bench-fleet

bench-fleet: build ## bbolt and PostgreSQL in turns, with and without a synchronous standby (needs PostgreSQL)
	$(GO) build -o bin/load ./bench/load
	python3 bench/load/fleet.py --accountantd bin/accountantd --load bin/load

.PHONY: python-proto test-python test-frameworks

PYTHON  ?= python3
STUBS    = python/.venv-stubs
# The last but one Python that has wheels of this old generator: python/generate.py says why it is old.
STUBSPYTHON ?= $(firstword $(shell command -v python3.11 python3.10) $(PYTHON))

$(STUBS)/ready:
	$(STUBSPYTHON) -m venv $(STUBS)
	$(STUBS)/bin/pip install -q --only-binary :all: grpcio-tools==1.49.1 'protobuf<5' 'setuptools<70'
	@touch $@

python-proto: $(STUBS)/ready ## the Python package's stubs from proto/
	$(STUBS)/bin/python python/generate.py $(STUBSCHECK)

test-python: build ## the Python package, installed anew, against the daemon
	rm -rf python/.venv python/build
	$(PYTHON) -m venv python/.venv
	python/.venv/bin/pip install -q './python[test]'
	cd python && .venv/bin/mypy && .venv/bin/ruff check
	cd python && ACCOUNTANTD=../bin/accountantd .venv/bin/pytest -q -n 3 -m 'not frameworks'

FRAMEWORKS = python/.venv-frameworks

$(FRAMEWORKS)/ready: python/frameworks.txt
	$(PYTHON) -m venv $(FRAMEWORKS)
	$(FRAMEWORKS)/bin/pip install -q -r $<
	@touch $@

test-frameworks: build $(FRAMEWORKS)/ready ## with the real frameworks, which are gigabytes: docs/frameworks.md
	$(FRAMEWORKS)/bin/pip install -q --force-reinstall --no-deps ./python
	cd python && ACCOUNTANTD=../bin/accountantd $(abspath $(FRAMEWORKS))/bin/pytest -v -m frameworks
	$(FRAMEWORKS)/bin/python python/bench.py --accountantd bin/accountantd

NOTEBOOKS = tools/notebooks/.venv

.PHONY: notebooks

$(NOTEBOOKS)/ready: tools/notebooks/requirements.txt
	$(PYTHON) -m venv $(NOTEBOOKS)
	grep -v '^opacus' $< | $(NOTEBOOKS)/bin/pip install -q -r /dev/stdin
	grep '^opacus' $< | $(NOTEBOOKS)/bin/pip install -q --no-deps -r /dev/stdin
	@touch $@

notebooks: build $(NOTEBOOKS)/ready ## docs/notebooks, run anew and compared with the outputs that are stored in them
	$(NOTEBOOKS)/bin/pip install -q --force-reinstall --no-deps ./python
	$(NOTEBOOKS)/bin/pip install -q ./python
	PATH="$(CURDIR)/bin:$$PATH" $(NOTEBOOKS)/bin/python tools/notebooks/run.py $(UPDATE)

SITE = docs/site/.venv

.PHONY: site pictures tasks

$(SITE)/ready: docs/site/requirements.txt
	$(PYTHON) -m venv $(SITE)
	$(SITE)/bin/pip install -q -r $<
	@touch $@

# A link that leads nowhere is a warning, and a warning is an error.
site: $(SITE)/ready ## the pages as one site with a search, in _site; every internal link checked
	$(SITE)/bin/sphinx-build -b html -c docs/site -d _site/.cache -j auto -q -W --keep-going . _site
	SITE="$(CURDIR)/_site" $(GO) test ./docs/site -count 1
	@echo "the site begins at $(CURDIR)/_site/index.html"

tasks: ## an officer's five tasks in a browser: clicks, seconds and pictures into _tasks
	mkdir -p _tasks
	ACCOUNTANT_SCREENS=$(CURDIR)/_tasks $(GO) test ./internal/web/browser -run TestOfficersTasks -v -count 1

# Chromium draws the pages of a daemon with an example ledger.
pictures: build ## the screenshots and the plot of README.md and docs/dashboard.md
	$(PYTHON) docs/pictures/make.py bin
