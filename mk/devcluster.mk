# A real Kubernetes control plane on loopback: devcluster/README.md.
#
# Include this from the Makefile in the root; it expects to run there.

DEVCLUSTER := bin/devcluster

# `make demo KUBECONFIG=file` means "use that cluster". A KUBECONFIG that just
# happens to be set in the shell does not: it often names a cluster that matters.
ifeq ($(origin KUBECONFIG),command line)
export DEVCLUSTER_KUBECONFIG := $(abspath $(KUBECONFIG))
endif

.PHONY: devcluster FORCE

# go knows better than file times whether this is up to date.
$(DEVCLUSTER): FORCE
	@mkdir -p $(@D)
	@cd devcluster && go build -o ../$@ .

FORCE:

ifneq ($(DEVCLUSTER_KUBECONFIG)$(KUBEBUILDER_ASSETS),)
devcluster: $(DEVCLUSTER)
	@echo "devcluster: nothing to compile: $(if $(DEVCLUSTER_KUBECONFIG),$(DEVCLUSTER_KUBECONFIG) names a cluster,$(KUBEBUILDER_ASSETS) has the binaries)"
else
devcluster: $(DEVCLUSTER) ## Compile the Kubernetes control plane for the demo and the tests (about 4 minutes, once)
	@$(DEVCLUSTER) build
endif
