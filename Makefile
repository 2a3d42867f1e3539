SHELL := /bin/bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help

# Tools are pinned in modules of their own, away from the product's.
GOLANGCI_LINT := go tool -modfile=tools/lint/go.mod golangci-lint

# Packages whose tests are about PostgreSQL itself.
PG_PACKAGES := ./internal/pgtest/... ./storage/postgres/...

# The program, and flags for two of its commands, such as BENCH_FLAGS=--quick.
IDEMSVC := build/idemsvc
BENCH_FLAGS :=
DEMO_FLAGS :=

# Most tests wait for a database rather than for a core.
TEST_FLAGS := -race -count=1 -parallel=8 -timeout=20m

.PHONY: help
help: ## Show this help
	@awk -F ':.*## ' '/^[a-z-]+:.*## / { printf "%-16s %s\n", $$1, $$2 }' $(MAKEFILE_LIST)

# Brings what is missing, or says what is. Run as «$(call with,run)»: the folder of
# PostgreSQL's programs may come out of it.
with = bin=$$(scripts/bootstrap.sh $(1)) && export IDEMSVC_PG_BIN=$$bin &&

.PHONY: bootstrap
bootstrap: ## Install what is missing to run and test, or say what is
	@scripts/bootstrap.sh test >/dev/null

.PHONY: build
build: ## Compile everything
	go build ./...

# As it is shipped, so that nothing is compiled twice.
.PHONY: idemsvc
idemsvc:
	@command -v go >/dev/null || { echo "Go is missing; go.mod says which version is needed" >&2; exit 1; }
	CGO_ENABLED=0 go build -trimpath -buildvcs=false -ldflags "-X main.stamp=$$(scripts/version.sh)" -o $(IDEMSVC) ./cmd/idemsvc

.PHONY: dist
dist: ## Make what is shipped, in dist/: static programs, OCI images, licences, checksums
	SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(scripts/version.sh --date)} go run ./internal/dist -version "$$(scripts/version.sh)"

.PHONY: run
run: idemsvc ## Serve on 127.0.0.1:7443, with a PostgreSQL of its own in data/
	$(call with,run) dir=$$(scripts/data-dir.sh) && exec $(IDEMSVC) serve --data-dir "$$dir"

.PHONY: bench
bench: idemsvc ## Measure against one-row SQL on this machine (BENCH_FLAGS=--quick: less)
	$(call with,run) exec $(IDEMSVC) bench $(BENCH_FLAGS)

# How many events «bench-growth» stores. They go to TMPDIR, and are removed.
GROWTH := 20000000

.PHONY: bench-growth
bench-growth: idemsvc ## Measure beside GROWTH stored events, 20 million, if the disk has room for them
	$(call with,run) exec $(IDEMSVC) bench --growth $(GROWTH) $(BENCH_FLAGS)

# River is in a module of its own, and so in a process of its own.
.PHONY: bench-inbox
bench-inbox: idemsvc ## Measure the inbox beside River: receive, acquire, complete with 64 producers
	go build -C tools/riverbench -trimpath -o $(CURDIR)/build/riverbench .
	$(call with,run) exec $(IDEMSVC) bench --river build/riverbench --only inbox,inbox-stored $(BENCH_FLAGS)

# How many events wait for «bench-waiting».
WAITING := 1000000

.PHONY: bench-waiting
bench-waiting: idemsvc ## Measure acquiring beside WAITING events, a million, if the disk has room for them
	$(call with,run) exec $(IDEMSVC) bench --waiting $(WAITING) $(BENCH_FLAGS)

.PHONY: demo
demo: idemsvc ## Show a storm of webhooks with and without idemsvc (DEMO_FLAGS=--quick: shorter)
	$(call with,run) exec $(IDEMSVC) demo $(DEMO_FLAGS)

.PHONY: test
test: ## Run all tests with the race detector, on PostgreSQL and PgBouncer
	$(call with,test) go test $(TEST_FLAGS) ./...

.PHONY: test-alerts
test-alerts: ## Test the alerts with promtool and a Prometheus
	$(call with,test) go test $(TEST_FLAGS) ./test/monitoring

.PHONY: test-collector
test-collector: ## Follow a story through an OpenTelemetry Collector, built first
	go build -C tools/collector -trimpath -ldflags "-s -w" -o $(CURDIR)/build/collector .
	$(call with,test) IDEMSVC_TEST_COLLECTOR=$(CURDIR)/build/collector go test $(TEST_FLAGS) -run Collector ./test/telemetry

# What a soak is to reach; its result goes to build/soak/.
SOAK_FLAGS := -campaign.kills=500 -campaign.rounds=1500 -campaign.time=20m -campaign.limit=0
SOAK_HISTORIES := 10m

.PHONY: soak
soak: ## Kill servers, clients and PostgreSQL 500 times in 20 minutes or more, then judge histories for SOAK_HISTORIES
	mkdir -p build/soak
	$(call with,test) IDEMSVC_TEST_HEAVY=1 go test -race -count=1 -timeout=90m -v -run '^TestKillCampaign$$' ./test/faults $(SOAK_FLAGS) -campaign.result=$(CURDIR)/build/soak/campaign.json
	$(call with,test) IDEMSVC_LINEAR_TIME=$(SOAK_HISTORIES) IDEMSVC_TEST_HEAVY=1 go test -race -count=1 -timeout=90m -v \
		-run '^TestHistoriesAreLinearizable$$|^TestSeededFaultsAreNoticed$$' ./storage/postgres | tee build/soak/histories.txt

# The same for a soak of the inbox.
SOAK_INBOX_FLAGS := -inbox.events=1000 -inbox.kills=300 -inbox.time=20m -inbox.limit=0

.PHONY: soak-inbox
soak-inbox: ## Kill servers, workers and PostgreSQL 300 times behind a provider that repeats and shuffles, in 20 minutes or more
	mkdir -p build/soak
	$(call with,test) go test -race -count=1 -timeout=90m -v -run '^TestInboxCampaign$$' ./test/faults $(SOAK_INBOX_FLAGS) -inbox.result=$(CURDIR)/build/soak/inbox.json

.PHONY: soak-outage
soak-outage: ## Deliver webhooks for a minute and more while the service is away, in each mode
	$(call with,test) go test -race -count=1 -timeout=30m -v -parallel=5 -run '^TestTheServiceIsAway(UnderLoad|WhileReceiving)$$' ./clients/go/webhook -outage.time=60s

.PHONY: fuzz
fuzz: ## Fuzz each decoder for FUZZ_TIME, 30s (FUZZ_KEEP=1: keep what is interesting)
	FUZZ_TIME=$(or $(FUZZ_TIME),30s) FUZZ_KEEP=$(FUZZ_KEEP) scripts/fuzz.sh

.PHONY: test-pg-newer
test-pg-newer: bootstrap ## Run the storage tests on a newer PostgreSQL major version
	bin=$$(scripts/pg-newer.sh); IDEMSVC_PG_BIN=$$bin go test $(TEST_FLAGS) $(PG_PACKAGES)

.PHONY: clients
clients: ## Install and compile the clients for Python, TypeScript and Java
	scripts/clients.sh build

.PHONY: generate
generate: ## Regenerate the code that is made from the contract
	scripts/proto.sh generate
	scripts/proto.sh image
	scripts/clients.sh generate

.PHONY: lint
lint: lint-go lint-proto lint-clients ## Check everything that needs no test

.PHONY: lint-go
lint-go: ## Check the Go code and its modules
	go mod tidy -diff
	go vet ./...
	go -C tools/riverbench vet ./...
	$(GOLANGCI_LINT) run

.PHONY: lint-proto
lint-proto: ## Check the contract, its compatibility and the code made from it
	scripts/proto.sh lint
	scripts/proto.sh breaking
	scripts/proto.sh drift

.PHONY: lint-clients
lint-clients: ## Check the stubs for other languages
	scripts/clients.sh drift

.PHONY: fmt
fmt: ## Format the Go code
	$(GOLANGCI_LINT) fmt

.PHONY: clean
clean: ## Remove what was built or fetched
	rm -rf build dist
