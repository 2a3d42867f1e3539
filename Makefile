SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# Tools are pinned in modules of their own, away from the product's.
GOLANGCI_LINT := go tool -modfile=tools/lint/go.mod golangci-lint

# Packages whose tests are about PostgreSQL itself.
PG_PACKAGES := ./internal/pgtest/... ./storage/postgres/...

# The program, and flags for measuring, such as BENCH_FLAGS=--quick.
IDEMSVC := build/idemsvc
BENCH_FLAGS :=

# Most tests wait for a database rather than for a core.
TEST_FLAGS := -race -count=1 -parallel=8 -timeout=20m

.PHONY: help
help: ## Show this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

.PHONY: bootstrap
bootstrap: ## Install what is missing to run and test (as root), or say what is
	@scripts/bootstrap.sh

.PHONY: build
build: ## Compile everything
	go build ./...

.PHONY: idemsvc
idemsvc:
	go build -o $(IDEMSVC) ./cmd/idemsvc

.PHONY: run
run: bootstrap idemsvc ## Serve on 127.0.0.1:7443, with a PostgreSQL of its own in data/
	exec $(IDEMSVC) serve

.PHONY: bench
bench: bootstrap idemsvc ## Measure against one-row SQL on this machine (BENCH_FLAGS=--quick: less)
	exec $(IDEMSVC) bench $(BENCH_FLAGS)

.PHONY: test
test: bootstrap ## Run all tests with the race detector, on an installed PostgreSQL and PgBouncer
	go test $(TEST_FLAGS) ./...

.PHONY: test-pg-newer
test-pg-newer: bootstrap ## Run the storage tests on a newer PostgreSQL major version
	bin=$$(scripts/pg-newer.sh); IDEMSVC_PG_BIN=$$bin go test $(TEST_FLAGS) $(PG_PACKAGES)

.PHONY: generate
generate: ## Regenerate the code that is made from the contract
	scripts/proto.sh generate
	scripts/proto.sh image

.PHONY: lint
lint: lint-go lint-proto ## Check everything that needs no test

.PHONY: lint-go
lint-go: ## Check the Go code and its modules
	go mod tidy -diff
	go vet ./...
	$(GOLANGCI_LINT) run

.PHONY: lint-proto
lint-proto: ## Check the contract, its compatibility and the code made from it
	scripts/proto.sh lint
	scripts/proto.sh breaking
	scripts/proto.sh drift

.PHONY: fmt
fmt: ## Format the Go code
	$(GOLANGCI_LINT) fmt

.PHONY: clean
clean: ## Remove what was built or fetched
	rm -rf build dist
