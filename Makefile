# mcpl. `make` alone says what there is.

GO       ?= go
BIN      := bin/mcpl
# One static binary without debug symbols; its version is what the go command stamps into it.
BUILD    := CGO_ENABLED=0 $(GO) build -trimpath -ldflags "-s -w"
FUZZTIME ?= 20s
# misspell reads every file but lists of words and lock files, and lets pass what tests mistype on purpose.
SPELLED  := . ':!pkg/search/related_table.go' ':!internal/eval' ':!*/package-lock.json' ':!*.svg'
MISTYPED := curent,recomend
# $(call with,NAME) puts the path of a tool that tools/go.mod pins into the shell's variable tool.
with      = tool="$$($(GO) -C tools tool -n $(1))" &&
NPM_DIR  := testdata/npm
CONF_DIR := testdata/conformance

.DEFAULT_GOAL := help
.PHONY: help build install demo test race cover deploy-test lint vuln fuzz servers bench bench-cli bench-many bench-gateway eval docs node conformance conformance-suite

help: ## say what there is
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-13s %s\n", $$1, $$2}'

build: ## build bin/mcpl, static and stripped
	@mkdir -p bin
	$(BUILD) -o $(BIN) ./cmd/mcpl

install: build ## install as mcpl and as mcp-launchpad where `go install` would
	@dir="$$($(GO) env GOBIN)"; [ -n "$$dir" ] || dir="$$($(GO) env GOPATH)/bin"; \
	mkdir -p "$$dir" && cp $(BIN) "$$dir/mcpl" && ln -sf mcpl "$$dir/mcp-launchpad" && \
	echo "installed $$dir/mcpl and $$dir/mcp-launchpad"

demo: build ## a tour on an embedded example server
	@sh testdata/demo/tour.sh $(BIN)

test: node ## every test; with Node also the end-to-end tests against real servers
	$(GO) test ./...

race: node ## every test three times under the race detector
	$(GO) test -race -count=3 ./...

cover: node ## how much of pkg/ the tests run
	$(GO) test -coverpkg=./pkg/... -coverprofile=/tmp/mcpl-cover.out ./... >/dev/null
	@$(GO) tool cover -func=/tmp/mcpl-cover.out | tail -n 1

# A module of its own, for Helm's library and Compose's. As root on Linux it also runs the image's content as a container.
deploy-test: ## the image, the Compose file and the chart of deploy/, without Docker
	$(GO) -C deploy vet ./...
	$(GO) -C deploy test ./...

# MCPL_REQUIRE_REAL_SERVERS=1, as in CI, makes a machine that cannot run the suite a failure.
conformance: build ## the protocol's conformance suite (SCENARIO=name for one of its scenarios)
	@if command -v npm >/dev/null 2>&1 && [ "$$(uname -sm)" = "Linux x86_64" ]; then \
		$(MAKE) --no-print-directory conformance-suite && \
		$(call with,everything-server) $(GO) run ./internal/conformance -mcpl $(BIN) -suite $(CONF_DIR) -everything "$$tool" \
			-scenario "$(SCENARIO)"; \
	else \
		echo "the conformance suite is left out: it needs npm and Linux on x86_64, for its Node"; \
		[ "$$MCPL_REQUIRE_REAL_SERVERS" != 1 ]; \
	fi

lint: ## gofmt, vet, errorlint, bodyclose, staticcheck, misspell, the house rules, the other systems
	@unformatted="$$(gofmt -l cmd deploy internal pkg tools)"; [ -z "$$unformatted" ] || { echo "not gofmt-ed: $$unformatted"; exit 1; }
	$(GO) vet ./...
	$(call with,analyze) $(GO) vet -vettool="$$tool" ./...
	$(call with,staticcheck) "$$tool" ./...
	$(call with,misspell) git ls-files -co --exclude-standard -- $(SPELLED) | xargs "$$tool" -error -i $(MISTYPED)
	$(GO) test -count=1 ./internal/archtest
	$(call with,analyze) for os in windows darwin; do export GOOS=$$os; \
		$(GO) build ./... && $(GO) vet ./... && $(GO) vet -vettool="$$tool" ./... || exit 1; \
	done

vuln: ## known vulnerabilities in what we import (asks vuln.go.dev)
	$(call with,govulncheck) "$$tool" ./...

fuzz: ## every fuzz target for FUZZTIME (20s) each
	@$(GO) list ./... | while read -r pkg; do \
		$(GO) test -list '^Fuzz' "$$pkg" | grep '^Fuzz' | while read -r target; do \
			echo "$$pkg $$target"; $(GO) test -run '^$$' -fuzz "^$$target\$$" -fuzztime $(FUZZTIME) -fuzzminimizetime 10x "$$pkg" </dev/null || exit 1; \
		done || exit 1; \
	done

# Each server has a folder of its own: in one tree npm would mend what is broken in some.
servers: ## real servers that cannot work (no token, no service), from npm, against their recorded causes
	MCPL_LIVE_SERVERS=$(CURDIR)/.cache/servers $(GO) test ./pkg/conn -run TestLiveServers -count=1 -v -timeout 30m

bench: ## benchmarks inside the process, of BASE (where the branch began) and of this tree in turn, compared
	@bash tools/bench.sh

bench-cli: build node ## whole processes against a hello-world process, as ratios
	$(GO) run ./internal/benchcli -mcpl $(BIN) -npm $(NPM_DIR) -plot docs/search-time.svg

bench-many: build ## 45 servers on this machine beside a load of 20: how many come up (takes minutes)
	$(GO) run ./internal/benchcli -mcpl $(BIN) -many

bench-gateway: build node ## calls through mcpl serve against the host's own, its start, memory and idle time
	$(GO) run ./internal/benchgateway -mcpl $(BIN) -npm $(NPM_DIR)

eval: ## the ranking on labelled data (DATA=folder of sets)
	$(GO) run ./internal/eval -data $(or $(DATA),../shared/retrieval)

docs: ## write the generated documents anew
	$(GO) test ./internal/cli -run Reference -update

# Real MCP servers, pinned by a lock file. Without Node the tests that need them are left out.
node:
	@if command -v npm >/dev/null 2>&1 && command -v node >/dev/null 2>&1; then \
		if [ ! -e $(NPM_DIR)/node_modules/.package-lock.json ] || [ $(NPM_DIR)/package-lock.json -nt $(NPM_DIR)/node_modules/.package-lock.json ]; then \
			echo "installing the real servers into $(NPM_DIR)/node_modules"; \
			cd $(NPM_DIR) && npm ci --no-audit --no-fund --loglevel=error && touch node_modules/.package-lock.json; \
		fi; \
	else echo "Node and npm are not here: the end-to-end tests against real servers are left out"; fi

# The suite and the Node that runs it, pinned by a lock file.
conformance-suite:
	@if [ ! -e $(CONF_DIR)/node_modules/.package-lock.json ] || [ $(CONF_DIR)/package-lock.json -nt $(CONF_DIR)/node_modules/.package-lock.json ]; then \
		echo "installing the conformance suite into $(CONF_DIR)/node_modules"; \
		cd $(CONF_DIR) && npm ci --ignore-scripts --no-audit --no-fund --loglevel=error && touch node_modules/.package-lock.json; \
	fi
