# A real Kubernetes control plane on loopback. See hack/devcluster/README.md.
#
# Include this from the Makefile in the root folder. The recipes run there.

DEVCLUSTER := bin/devcluster

# `make demo KUBECONFIG=file` uses that cluster. A KUBECONFIG in the environment is
# ignored, because it often names an important cluster.
ifeq ($(origin KUBECONFIG),command line)
export DEVCLUSTER_KUBECONFIG := $(abspath $(KUBECONFIG))
endif

# `make demo KUBERNETES=1.33` runs that minor instead of the newest one. devcluster
# rejects minors that it does not have.
ifneq ($(KUBERNETES),)
export DEVCLUSTER_KUBERNETES := $(KUBERNETES)
endif

# The supported minors: those that are pinned. test/docs keeps the README the same.
KUBERNETES_MINORS := $(sort $(patsubst hack/devcluster/kubernetes/%.mod,%,$(wildcard hack/devcluster/kubernetes/*.mod)))

.PHONY: devcluster skew walks FORCE

# go decides better than file times whether the binary is up to date.
$(DEVCLUSTER): FORCE
	@mkdir -p $(@D)
	@cd hack/devcluster && go build -o ../../$@ .

FORCE:

ifneq ($(DEVCLUSTER_KUBECONFIG)$(KUBEBUILDER_ASSETS),)
devcluster: $(DEVCLUSTER)
	@echo "devcluster: nothing to compile: $(if $(DEVCLUSTER_KUBECONFIG),$(DEVCLUSTER_KUBECONFIG) names a cluster,$(KUBEBUILDER_ASSETS) has the binaries)"
else
devcluster: $(DEVCLUSTER) ## Compile the Kubernetes control plane for the demo and the tests (once, a quarter of an hour on 2 cores; KUBERNETES=1.33 compiles another version)
	@$(DEVCLUSTER) build
endif

skew: $(DEVCLUSTER) ## Run the examples, a sample of the campaign and the tests of diff on each supported minor of Kubernetes (KUBERNETES=1.33 runs one)
	@hack/skew.sh $(or $(KUBERNETES),$(KUBERNETES_MINORS))

walks: $(DEVCLUSTER) ## Count the files that a repair and an edit of the rules run through (hack/walks.sh -v lists them)
	@hack/walks.sh
