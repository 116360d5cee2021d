# make demo   builds both programs and opens the screen on the lab
# make test   builds both programs and runs every test
GO     ?= go
GOARGS ?=
LDFLAGS = -s -w -X main.version=$(VERSION)
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
TIMEOUT = 20m
# CI=1 turns every skipped test into a failure.
REQUIRE = $(if $(CI),LIGHTSOUT_REQUIRE_ALL=1,)

.PHONY: all build demo test test-tool test-lab bench vet clean

all: build

build: bin/lightsout bin/lightsout-lab

.PHONY: bin/lightsout bin/lightsout-lab
bin/lightsout:
	$(GO) build $(GOARGS) -ldflags '$(LDFLAGS)' -o $@ .

bin/lightsout-lab:
	@[ -e $@ ] || echo "building the lab: a whole Kubernetes control plane, most of 10 minutes on 2 cores, only this once"
	cd cluster/lab && $(GO) build $(GOARGS) -ldflags '-s -w' -o ../../$@ .

demo: build
	bin/lightsout demo

test: build vet test-tool test-lab

vet:
	@test -z "$$(gofmt -l $$(git ls-files '*.go' 2>/dev/null || echo .))" || { gofmt -l .; exit 1; }
	$(GO) vet ./...
	cd cluster/lab && $(GO) vet ./...

test-tool:
	$(REQUIRE) $(GO) test -race -p 1 -timeout $(TIMEOUT) ./...

test-lab:
	cd cluster/lab && $(REQUIRE) $(GO) test -timeout $(TIMEOUT) ./...

bench: build
	$(GO) test -run '^$$' -bench . -benchtime 2s ./...

clean:
	rm -rf bin
