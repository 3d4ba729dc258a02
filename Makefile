# `make help` lists all targets.

SHELL := bash
.SHELLFLAGS := -euo pipefail -c
.DEFAULT_GOAL := help
.DELETE_ON_ERROR:
.NOTPARALLEL:
MAKEFLAGS += --no-print-directory

include hack/make/devcluster.mk
include hack/make/playground.mk

RECONCEL := bin/reconcel

# golangci-lint is built from source by a plain `go install`.
GOLANGCI_LINT_VERSION := v2.15.0
GOLANGCI_LINT := bin/golangci-lint-$(GOLANGCI_LINT_VERSION)

# The race detector needs a C compiler. Without one, the tests run without it and
# print a note.
RACE = $(if $(shell command -v "$$(go env CC)"),-race)
NO_RACE = @$(if $(RACE),:,echo 'no C compiler found: the tests run without the race detector' >&2)

# Tests that the race detector skips: they measure time, or take minutes with it and have a
# single goroutine.
WITHOUT_RACE := TestFortyFilesAreQuick|TestHundredCasesAreQuick|TestAnswersAtOnce|TestAttacks|TestLargeAttacks|TestAttacksByDefinitions|TestDefinitionsGiveWhatTheirTextGives|TestProjectionOfGrownRulesIsInvisible|TestLargeCollection|TestInitOfApplications|TestPlaygroundAnswersAsCommands|TestPagesAreComplete|TestDamaged|TestSharedByManyThatComeAndGo|TestHoldSurvivesEachKill|TestGeneratedValuesSurviveEachKill|TestTooMuchTimePasses

# Packages whose tests take minutes with the race detector: they play whole clusters in a single
# goroutine, as sim/world does with it, or run the commands of the pages, as cli does with it.
SINGLE := reconcel/cli/internal/plan reconcel/cli/internal/change reconcel/cli/internal/why reconcel/test/docs

# Packages with tests that need a cluster.
INTEGRATION_FILES = $(shell grep -rl --include='*_test.go' --exclude-dir=ecosystem '^//go:build integration' cli engine rules sim test)
INTEGRATION = $(addprefix ./,$(sort $(patsubst %/,%,$(dir $(INTEGRATION_FILES)))))

# Their names. `make test` runs the other tests of these packages.
tests_in = ^($(shell sed -nE 's/^func (Test\w+).*/\1/p' $(1) | sort -u | paste -sd '|'))$$
INTEGRATION_TESTS = $(call tests_in,$(INTEGRATION_FILES))

# Packages whose integration tests start other programs, which the race detector
# does not see. `make test` runs their other tests with it.
CAMPAIGN := ./test/campaign
DRIVERS := ./cli ./test/examples $(CAMPAIGN) ./test/devcluster ./test/docs

# For each example: the resources to render with its rules, and the observed
# objects.
EXAMPLES := foo podset replicaset-pod-count databasemanager sample namespace-decorator webapp workerpool catset service-per-pod \
	job-gate pipeline indexedjob bluegreen canary preview reloader config-propagation mirror backup-on-delete chain registry database searchcluster fan-in runner sleep extend
RESOURCES_foo := foo.yaml
RESOURCES_podset := podset.yaml
RESOURCES_replicaset-pod-count := replicaset.yaml
RESOURCES_databasemanager := mysql.yaml mariadb.yaml
RESOURCES_sample := sample.yaml
RESOURCES_namespace-decorator := namespace.yaml
RESOURCES_webapp := shop.yaml internal.yaml
RESOURCES_workerpool := workerpool.yaml
RESOURCES_catset := catset.yaml
RESOURCES_service-per-pod := statefulset.yaml
RESOURCES_job-gate := release.yaml
RESOURCES_pipeline := pipeline.yaml
RESOURCES_indexedjob := indexedjob.yaml
RESOURCES_bluegreen := bluegreen.yaml
RESOURCES_canary := canary.yaml
RESOURCES_preview := preview.yaml
RESOURCES_reloader := workloads.yaml
RESOURCES_config-propagation := configpropagation.yaml
OBSERVED_config-propagation := cluster.yaml
RESOURCES_mirror := sources.yaml
RESOURCES_backup-on-delete := database.yaml deleted.yaml
RESOURCES_chain := tenant.yaml
RESOURCES_registry := registry.yaml
RESOURCES_database := server.yaml user.yaml
RESOURCES_searchcluster := searchcluster.yaml
OBSERVED_fan-in := services.yaml
RESOURCES_runner := runners.yaml
RESOURCES_sleep := deployment.yaml
RESOURCES_extend := addition.yaml
observed = $(OBSERVED_$(1)) $(notdir $(wildcard examples/$(1)/observed.yaml))
render = $(RECONCEL) render --rules=examples/$(1)/rules.yaml --crd=crds \
	$(foreach r,$(RESOURCES_$(1)),--resources=examples/$(1)/$(r)) $(foreach o,$(call observed,$(1)),--observed=examples/$(1)/$(o))

.PHONY: help
help: ## Show this
	@echo 'make demo runs everything, make verify checks everything.'
	@echo
	@awk 'BEGIN {FS = ":.*## "} /^[a-z][a-z-]*:.*## / {printf "  %-16s %s\n", $$1, $$2}' $(MAKEFILE_LIST)

##@ Use

.PHONY: demo
demo: build $(if $(DEVCLUSTER_KUBECONFIG),devcluster,kubectl) ## Run the demo: a cluster in memory, the controller and two examples (or use the cluster of KUBECONFIG=file)
	@hack/demo.sh $(if $(DEVCLUSTER_KUBECONFIG),cluster,memory)

.PHONY: demo-cluster
demo-cluster: build devcluster ## Run the demo on a Kubernetes control plane on loopback
	@hack/demo.sh cluster

.PHONY: kubectl
kubectl: ## Build bin/kubectl, unless PATH has a kubectl
	@command -v kubectl >/dev/null || { cd hack/kubectl && CGO_ENABLED=0 go build -trimpath -o ../../bin/kubectl .; }

.PHONY: build
build: ## Build bin/reconcel
	CGO_ENABLED=0 go build -trimpath -o $(RECONCEL) .

.PHONY: build-convert
build-convert: ## Build bin/reconcel-convert, which reconcel import and reconcel init --chart start
	cd convert && CGO_ENABLED=0 go build -trimpath -o ../bin/reconcel-convert .

.PHONY: build-mcp
build-mcp: ## Build bin/reconcel-mcp, which lets agents read by the Model Context Protocol
	cd mcp && CGO_ENABLED=0 go build -trimpath -o ../bin/reconcel-mcp .

# docker if its daemon responds, or else buildah. Neither downloads anything.
IMAGE ?= reconcel:dev
IMAGE_BUILDER ?= $(shell if docker info >/dev/null 2>&1; then echo docker build; elif command -v buildah >/dev/null; then echo buildah build; fi)

.PHONY: image
image: image-files ## Build the container image reconcel:dev (IMAGE=name for another name), with docker or buildah
	@[[ -n '$(IMAGE_BUILDER)' ]] || { echo 'no docker daemon and no buildah found: install one, or name a command in IMAGE_BUILDER' >&2; exit 1; }
	$(IMAGE_BUILDER) --tag=$(IMAGE) .

# The binary is reproducible: the same commit and the same Go give the same bytes.
.PHONY: image-files
image-files:
	@mkdir -p bin/image
	CGO_ENABLED=0 GOOS=linux go build -trimpath -ldflags='-s -w' -o bin/image/reconcel .
	@for f in $$SSL_CERT_FILE /etc/ssl/certs/ca-certificates.crt /etc/pki/tls/certs/ca-bundle.crt /etc/ssl/cert.pem; do \
		if [[ -s $$f ]]; then install -m 0644 "$$f" bin/image/ca-certificates.crt; exit; fi; \
	done; echo 'no CA certificates found: name the file in SSL_CERT_FILE' >&2; exit 1

.PHONY: image-check
image-check: ## Check that builds in two folders give the same binary
	@hack/reproducible.sh image-files bin/image

# PLATFORMS=linux/amd64 builds less. RELEASE_URL is where krew downloads the archives.
.PHONY: release
release: ## Build the files of a release from the last commit into dist, for all platforms
	rm -rf dist
	cd hack/release && go run . -o ../../dist $(if $(PLATFORMS),-platforms=$(PLATFORMS)) $(if $(RELEASE_URL),-url=$(RELEASE_URL))

.PHONY: release-check
release-check: ## Check that releases from two folders have the same bytes (PLATFORMS=linux/amd64 builds less)
	@hack/reproducible.sh release dist

##@ Check

.PHONY: test
test: ## Run the tests that need no cluster, with the race detector
	$(NO_RACE)
	go test $(RACE) -p 2 -parallel 8 -timeout 15m $$(go list ./... | grep -vxF "$$(printf '%s\n' $(SINGLE))")
	go test -p 2 -timeout 5m $(SINGLE)
	go test -p 1 -timeout 5m ./cli/internal/mistakes ./cli/internal/judge # the race detector tries a sample, or nothing; they measure memory
	go test -p 1 -timeout 5m -run '^($(WITHOUT_RACE))$$' ./cli ./cli/internal/lsp ./rules ./rules/check ./sim/world

.PHONY: test-tools
test-tools: ## Run the tests of the other modules: convert, mcp, devcluster, bench, release, ecosystem
	$(NO_RACE)
	cd hack/devcluster && go test $(RACE) -timeout 10m .
	cd hack/bench && go test $(RACE) -timeout 10m ./...
	cd convert && go test -timeout 10m ./...
	cd mcp && go test $(RACE) -timeout 5m ./...
	cd hack/release && go test -timeout 5m ./...
	cd test/ecosystem && go test -parallel 8 -timeout 15m ./... # without the race detector: it has much to compile, and its stories mostly wait

# Fuzz targets: package and function. A failing input is stored in testdata/fuzz of
# the package. The time for minimizing inputs is limited, because by default
# minimizing takes most of the time.
FUZZ := syntax/FuzzParse expr/FuzzUnmarshalYAML expr/FuzzRegex FuzzRender FuzzGrown
SOAK_MINUTES ?= 10
fuzz = $(foreach f,$(FUZZ),go test -run '^$$' -fuzz '^$(notdir $(f))$$' -fuzztime $(1) -fuzzminimizetime 10x ./rules/$(filter-out ./,$(dir $(f)));)

.PHONY: soak
soak: soak-fuzz soak-attacks soak-sequences soak-reloads soak-lead soak-outages soak-operations soak-examples soak-plan soak-credentials soak-stories ## Run the full long tests, of which make test runs samples (some hours)

.PHONY: soak-fuzz
soak-fuzz: ## Fuzz parsing, loading and rendering for SOAK_MINUTES, 10 by default, shared by all targets
	@$(call fuzz,$$(($(SOAK_MINUTES) * 60 / $(words $(FUZZ))))s)

.PHONY: soak-attacks
soak-attacks: ## Load, judge and render all rules that are made to be expensive, of which make test tries a sample
	RECONCEL_SOAK=1 go test -p 1 -timeout 30m -count 1 -run '^(TestAttacks|TestLargeAttacks|TestAttacksByDefinitions|TestRulesOfTwiceTheSize|TestRulesThatFillAFile)$$' ./rules ./cli/internal/judge

.PHONY: soak-sequences
soak-sequences: ## Change rules and a resource 12,500 times at random in memory, and check the resulting objects
	RECONCEL_SOAK=1 go test -count 1 -run '^TestSequences$$' ./sim/world

# RECONCEL_SEED=n selects other random steps.
campaign = RECONCEL_SOAK=1 go test -tags integration -timeout 60m -count 1 -v -run '^$(1)$$' ./test/campaign

.PHONY: soak-reloads
soak-reloads: devcluster ## Reload the rules 500 times in 10 minutes, also with invalid ones, under load
	$(call campaign,TestReloads)

.PHONY: soak-lead
soak-lead: devcluster ## End the leader 50 times, in six ways, in about 15 minutes
	$(call campaign,TestLead)

.PHONY: soak-outages
soak-outages: devcluster ## Overload and restart the API server, renew watches, and fight other writers, in about half an hour
	$(call campaign,(TestOverload|TestOutages|TestWatchRenewals|TestRest|TestFight))

.PHONY: faults
faults: devcluster ## Run every workload with every fault, and compare each run with one without faults (about 3,700 plans, 80 minutes on two busy cores; RECONCEL_PLAN=file runs one plan)
	RECONCEL_SOAK=1 go test -tags integration -parallel 16 -timeout 240m -count 1 -v -run '^TestFaults$$' ./test/campaign

.PHONY: mutants
mutants: devcluster ## Build the controller with one mistake at a time, and check that the campaign finds each (RECONCEL_MUTANT=name builds one)
	$(call campaign,TestMutants)

.PHONY: soak-operations
soak-operations: devcluster ## Play 300 random sequences of operations, collisions and deletions, in about an hour
	$(call campaign,TestOperations)

.PHONY: soak-examples
soak-examples: devcluster ## Kill the controller at each write of the examples, and remove each of its permissions
	RECONCEL_SOAK=1 go test -tags integration -parallel 3 -timeout 120m -count 1 -run '^(TestExamples|TestEveryPermissionIsNeeded)$$' ./test/examples

.PHONY: soak-plan
soak-plan: devcluster ## Compare the plans of 40 edits with what the controller then writes, in about half an hour, and plan for 10,000 resources
	RECONCEL_SOAK=1 go test -tags integration -timeout 60m -count 1 -v -run '^(TestPlanForetellsAuditLog|TestTenThousand|TestPlanIsWhatHappens)$$' ./cli/internal/plan

.PHONY: soak-credentials
soak-credentials: devcluster ## Rotate credentials of every sort, lose packets, and cut leaders off, in about 35 minutes
	RECONCEL_SOAK=1 go test -tags integration -parallel 16 -timeout 90m -count 1 -v ./test/gateway

.PHONY: soak-stories
soak-stories: devcluster ## Tell the stories of a GitOps repository by each tool, and kill the leader at its writes
	cd test/ecosystem && RECONCEL_SOAK=1 go test -tags integration -parallel 8 -timeout 120m -count 1 -run '^TestStories' .

.PHONY: fuzz-sample
fuzz-sample: ## Fuzz each target for 5 seconds
	@$(call fuzz,5s)

# Run several tests of a package at once, because they mostly wait for controllers. Those of
# the engine limit times, so no other package runs beside them. The tests of DRIVERS start
# control planes of their own, which use both cores, and limit times. So fewer of them run at
# once, and those of the campaign, which share one, alone.
on_cluster = go test -tags integration -timeout 30m -count 1 -run '$(INTEGRATION_TESTS)'

.PHONY: test-cluster
test-cluster: devcluster ## Run the tests on a real control plane
	$(NO_RACE)
	@$(on_cluster) $(RACE) -parallel 12 ./engine
	@$(on_cluster) $(RACE) -p 2 -parallel 12 $(filter-out ./engine $(DRIVERS),$(INTEGRATION))
	@$(on_cluster) -p 1 -parallel 4 $(filter-out $(CAMPAIGN),$(filter $(DRIVERS),$(INTEGRATION)))
	@$(on_cluster) -parallel 8 $(CAMPAIGN)
	cd test/ecosystem && go test -tags integration -parallel 8 -timeout 15m -count 1 -run '$(call tests_in,$(wildcard test/ecosystem/*_integration_test.go))' .

.PHONY: examples
examples: build ## Render the examples, compare with the checked-in output, and run their tests
	@$(RECONCEL) validate --strict --crd=crds $(foreach e,$(EXAMPLES),--rules=examples/$(e)/rules.yaml)
	@$(foreach e,$(EXAMPLES),echo 'examples/$(e)'; $(call render,$(e)) | diff -u examples/$(e)/expected.yaml - ;)
	@$(RECONCEL) test --coverage $(foreach e,$(EXAMPLES),examples/$(e))

.PHONY: examples-update
examples-update: build ## Render and test the examples, and update the checked-in output
	@$(foreach e,$(EXAMPLES),$(call render,$(e)) >bin/expected.yaml; mv bin/expected.yaml examples/$(e)/expected.yaml;)
	@$(RECONCEL) test --update $(foreach e,$(EXAMPLES),examples/$(e))

.PHONY: schemas
schemas: devcluster ## Update the schemas of Kubernetes' own kinds from the development cluster
	@hack/schemas.sh

.PHONY: bench
bench: ## Run the micro-benchmarks
	go test -run '^$$' -bench . -benchmem -p 1 ./rules/... ./engine/...

# BENCH selects what is measured: BENCH='-n 100 -rounds 1' takes six minutes.
BENCH ?= -n 1000,10000 -rounds 3
BENCH_PAGE ?= hack/bench/results.md

.PHONY: bench-cluster
bench-cluster: devcluster ## Compare reconcel with a controller written in Go, kro and Metacontroller, and write hack/bench/results.md (BENCH='-n 100 -rounds 1' measures less)
	cd hack/bench && go build -o ../../bin/bench .
	bin/bench $(BENCH) -page=$(BENCH_PAGE)

.PHONY: lint
lint: $(GOLANGCI_LINT) ## Run the linters
	$(GOLANGCI_LINT) run ./...
	cd hack/devcluster && $(CURDIR)/$(GOLANGCI_LINT) run --config=$(CURDIR)/.golangci.yml .
	cd hack/bench && $(CURDIR)/$(GOLANGCI_LINT) run --config=$(CURDIR)/.golangci.yml ./...
	cd convert && $(CURDIR)/$(GOLANGCI_LINT) run --config=$(CURDIR)/.golangci.yml ./...
	cd mcp && $(CURDIR)/$(GOLANGCI_LINT) run --config=$(CURDIR)/.golangci.yml ./...
	cd hack/kubectl && $(CURDIR)/$(GOLANGCI_LINT) run --config=$(CURDIR)/.golangci.yml .
	cd hack/release && $(CURDIR)/$(GOLANGCI_LINT) run --config=$(CURDIR)/.golangci.yml ./...
	cd test/ecosystem && $(CURDIR)/$(GOLANGCI_LINT) run --config=$(CURDIR)/.golangci.yml ./...

$(GOLANGCI_LINT):
	@echo 'building golangci-lint $(GOLANGCI_LINT_VERSION), 2 to 3 minutes, once'
	@mkdir -p bin/tools
	GOBIN=$(CURDIR)/bin/tools CGO_ENABLED=0 go install -trimpath github.com/golangci/golangci-lint/v2/cmd/golangci-lint@$(GOLANGCI_LINT_VERSION)
	@mv bin/tools/golangci-lint $@ && rmdir bin/tools

.PHONY: fmt
fmt: ## Format the Go files
	gofmt -w $(GO_DIRS)

.PHONY: format-check
format-check: ## Check that the Go files are formatted
	@unformatted=$$(gofmt -l $(GO_DIRS)); if [[ -n $$unformatted ]]; then echo "not formatted, run make fmt:" >&2; echo "$$unformatted" >&2; exit 1; fi

GO_DIRS = main.go cli convert deploy engine hack internal mcp playground/serve playground/wasm rules sim test

.PHONY: tidy-check
tidy-check: ## Check that go.mod and go.sum are tidy
	go mod tidy -diff
	cd hack/bench && go mod tidy -diff
	cd convert && go mod tidy -diff
	cd mcp && go mod tidy -diff
	cd hack/devcluster && go mod tidy -diff
	cd hack/kubectl && go mod tidy -diff
	cd test/ecosystem && go mod tidy -diff
	cd hack/release && go mod tidy -diff

.PHONY: verify
verify: format-check tidy-check lint test test-tools fuzz-sample test-cluster examples ## Run all checks that must pass

.PHONY: clean
clean: ## Remove build outputs
	rm -rf bin dist
