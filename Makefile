# `make demo` and `make test` need Go only; `make check` also gcc and Node (CONTRIBUTING.md).
GO      ?= go
FUZZTIME ?= 10s

.PHONY: build demo test run race fuzz lint proto generate breaking check bench

build: ## the two commands, in bin/
	$(GO) build -o bin/ ./cmd/...

demo: build ## a DP-SGD run on real digits, every step in the ledger
	$(GO) run ./examples/digits -demo -accountantd bin/accountantd

test: ## every test; no C compiler needed
	CGO_ENABLED=0 $(GO) test ./...

run: build ## a standing daemon with its data in ./data
	bin/accountantd --data ./data

race: ## the rooms with concurrency under the race detector
	CGO_ENABLED=1 $(GO) test -race ./client/... ./internal/keeper/... ./internal/persist/... ./internal/server/... ./internal/ledger/...

fuzz: ## each fuzz target for FUZZTIME
	@set -e; for pkg in $$($(GO) list ./...); do \
	  for target in $$($(GO) test -list '^Fuzz' $$pkg | grep '^Fuzz' || true); do \
	    echo "fuzz $$pkg $$target"; $(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) $$pkg; \
	  done; done

lint: bin/golangci-lint ## golangci-lint with the import law
	bin/golangci-lint run ./...

bin/golangci-lint: tools/lint/go.sum
	cd tools/lint && $(GO) build -o ../../bin/golangci-lint github.com/golangci/golangci-lint/v2/cmd/golangci-lint

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

generate: $(BUF) ## gen/ from proto/
	$(BUF) generate

check: ## all that .ci/run does
	.ci/run
