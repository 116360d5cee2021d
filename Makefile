# make demo   builds both programs and opens the screen on the lab
# make test   builds both programs and runs every test
# make short  runs the tests that take a minute in all
GO     ?= go
GOARGS ?=
LDFLAGS = -s -w -X main.version=$(VERSION)
# The lab's control plane says which Kubernetes it is, as a released one does.
KUBERNETES := $(shell sed -n 's/^\tk8s.io\/kubernetes v//p' cluster/lab/go.mod)
LABFLAGS = -s -w -X k8s.io/component-base/version.gitVersion=v$(KUBERNETES) -X k8s.io/component-base/version.gitMajor=1 -X k8s.io/component-base/version.gitMinor=$(word 2,$(subst ., ,$(KUBERNETES)))
VERSION := $(shell git describe --tags --always --dirty 2>/dev/null || echo dev)
# A test that hangs ends after TIMEOUT, with what each goroutine does.
TIMEOUT = 40m
# CI=1 turns every skipped test into a failure, and looks for data races where
# there is concurrency.
REQUIRE = $(if $(CI),LIGHTSOUT_REQUIRE_ALL=1,)
RACED   = ./cluster ./internal/recorder/... ./internal/session ./internal/terminal ./loadgen ./power ./power/internal/... ./power/ssh
# The packages that take longest begin first.
SLOW    = ./internal/simulator ./cluster/place ./internal/trial/phase ./internal/cli ./internal/session ./cluster ./loadgen

.PHONY: all build demo test short test-tool test-lab bench bench-scale fuzz vet cross picture dist clean

all: build

build: bin/lightsout bin/lightsout-lab bin/lightsout-lab-knative

.PHONY: bin/lightsout bin/lightsout-lab bin/lightsout-lab-knative
bin/lightsout:
	@[ -e $@ ] || echo "building lightsout: the first time, Go first downloads its modules; then about a minute on 2 cores"
	$(GO) build $(GOARGS) -ldflags '$(LDFLAGS)' -o $@ .

bin/lightsout-lab:
	@[ -e $@ ] || echo "building the lab: a whole Kubernetes control plane, about 5 minutes on 2 cores, only this once"
	cd cluster/lab && $(GO) build $(GOARGS) -ldflags "$(LABFLAGS)" -o ../../$@ .

# Knative's components for the lab, in a module of their own.
bin/lightsout-lab-knative:
	cd cluster/lab/serving && $(GO) build $(GOARGS) -ldflags '-s -w' -o ../../../$@ .

# demo plays a record while the lab is built for the first time: the program's modules are
# fetched first, so that the record begins as early as it can. It ends when the lab is there.
demo: bin/lightsout
	@[ -e bin/lightsout-lab -a -e bin/lightsout-lab-knative ] || { \
	( $(MAKE) --no-print-directory bin/lightsout-lab bin/lightsout-lab-knative >bin/lab.log 2>&1; kill $$(cat bin/replay.pid) 2>/dev/null ) & \
	sh -c 'echo $$$$ >bin/replay.pid; exec bin/lightsout replay mdx --loop --caption "A record, until the lab is built: about 5 minutes on 2 cores, only this once. q waits without it."'; \
	rm -f bin/replay.pid; echo "the lab is being built, about 5 minutes in all; its log is bin/lab.log"; wait; }
	@$(MAKE) --no-print-directory bin/lightsout-lab bin/lightsout-lab-knative
	bin/lightsout demo

test: build vet test-tool test-lab

# vet also says what nobody calls.
vet:
	@test -z "$$(gofmt -l $$(git ls-files '*.go' 2>/dev/null || echo .))" || { gofmt -l .; exit 1; }
	$(GO) vet ./...
	cd cluster/lab && $(GO) vet ./...
	cd internal/dist && $(GO) vet ./...
	$(GO) tool staticcheck ./...
	GO=$(GO) .ci/deadcode

# cross compiles for every platform that the tool is for.
cross:
	for os in linux darwin; do for arch in amd64 arm64; do \
		echo "$$os $$arch"; CGO_ENABLED=0 GOOS=$$os GOARCH=$$arch $(GO) build -o /dev/null . || exit 1; done; done

# vet has vetted all. The end-to-end tests come last, alone: other packages beside their
# labs would make them late on two cores.
TEST   = $(REQUIRE) $(GO) test -vet=off -timeout $(TIMEOUT)
OTHERS = $$($(GO) list $(SLOW) ./... | grep -v '/e2e$$' $(if $(CI),| grep -vxF "$$($(GO) list $(RACED))",))
test-tool:
	$(if $(CI),$(TEST) -race $(RACED))
	$(TEST) $(OTHERS)
	$(TEST) ./internal/e2e
	cd internal/dist && $(TEST) ./...

short: build
	$(GO) test -short ./...

test-lab:
	cd cluster/lab && $(TEST) -ldflags "$(LABFLAGS)" ./...
	cd cluster/lab/serving && $(TEST) ./...

# bench-scale measures the program on real API servers that are filled to several
# sizes, and prints a table: make bench-scale SIZES="S M L XL". It takes about
# three minutes a size; the benchmark's flag -cast FILE records the screen at the slow
# link; XL has 150,000 pods and wants 8 GB.
SIZES = S M L
bench-scale: build
	$(GO) test -run '^$$' -bench Scale -benchtime 1x -timeout 0 ./internal/scale -sizes "$(SIZES)"

bench: build
	$(GO) test -run '^$$' -bench . -benchtime 2s ./...

# fuzz runs each fuzz target for so long: make fuzz FOR=20s
fuzz: FOR = 20s
fuzz:
	GO=$(GO) FOR=$(FOR) .ci/fuzz

# picture makes the README's picture from a real run: the demo that runs by itself,
# recorded in a terminal of tmux's.
picture: build
	dir=$$(mktemp -d); tmux="tmux -f /dev/null -S $$dir/tmux"; \
	$$tmux new-session -d -x 110 -y 34 -e LC_ALL=C.UTF-8 "bin/lightsout demo mdx --play --quit --state $$dir/kept --cast $$dir/demo.cast; $$tmux wait-for -S over" && \
	$$tmux wait-for over; \
	bin/lightsout export $$dir/demo.cast docs/demo.svg --idle 2s --least 2s --speed 1.25 --captions=false; rm -rf "$$dir"

# dist makes what users install, in bin/dist. The same commit makes the same bytes.
dist: DIST_VERSION ?= $(or $(patsubst v%,%,$(shell git describe --tags --match 'v[0-9]*' 2>/dev/null)),0.0.0-$(shell git log -1 --format=%cd.g%h --date=format:%Y%m%d))
dist:
	cd internal/dist && SOURCE_DATE_EPOCH=$${SOURCE_DATE_EPOCH:-$$(git log -1 --format=%ct)} $(GO) run . -version '$(DIST_VERSION)'

clean:
	rm -rf bin
