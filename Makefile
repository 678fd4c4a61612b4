# mcpl. `make` alone says what there is.

GO      ?= go
BIN     := bin/mcpl
LDFLAGS := -s -w
# CGO off: one static binary. -buildvcs: the version is the commit's.
BUILD   := CGO_ENABLED=0 $(GO) build -trimpath -buildvcs=auto -ldflags "$(LDFLAGS)"
FUZZTIME ?= 20s

.DEFAULT_GOAL := help
.PHONY: help build install demo test race lint fuzz bench bench-cli eval cover reference node vuln

help: ## say what there is
	@grep -hE '^[a-z-]+:.*## ' $(MAKEFILE_LIST) | awk -F ':.*## ' '{printf "  make %-10s %s\n", $$1, $$2}'

build: ## build bin/mcpl, static and stripped
	@mkdir -p bin
	$(BUILD) -o $(BIN) ./cmd/mcpl

install: build ## install as mcpl and as mcp-launchpad into GOBIN
	@dir="$$($(GO) env GOBIN)"; [ -n "$$dir" ] || dir="$$($(GO) env GOPATH)/bin"; \
	mkdir -p "$$dir" && cp $(BIN) "$$dir/mcpl" && ln -sf mcpl "$$dir/mcp-launchpad" && echo "installed $$dir/mcpl and $$dir/mcp-launchpad"

demo: build ## a tour on an embedded example server
	@sh testdata/demo/tour.sh $(BIN)
