# The playground: the language in a page. See docs/how-to/playground.md.
#
# Include this from the Makefile in the root folder. The recipes run there.

PLAYGROUND := bin/playground
PLAYGROUND_LISTEN ?= 127.0.0.1:8090

.PHONY: playground
playground: playground-build ## Build the playground, a page, into bin/playground, and serve it on loopback
	bin/playground-serve -listen $(PLAYGROUND_LISTEN) $(PLAYGROUND)

.PHONY: playground-build
playground-build: playground/node_modules/.package-lock.json
	GOOS=js GOARCH=wasm go build -trimpath -ldflags='-s -w' -o bin/reconcel.wasm ./playground/wasm
	CGO_ENABLED=0 go build -o bin/playground-serve ./playground/serve
	node playground/build.js $(PLAYGROUND) bin/reconcel.wasm $(foreach e,$(EXAMPLES),'$(e)|$(RESOURCES_$(e))|$(call observed,$(e))')

# npm verifies the checksums in package-lock.json. No package runs a script.
playground/node_modules/.package-lock.json: playground/package-lock.json
	@command -v npm >/dev/null || { echo 'the playground needs Node.js 20 and npm: install them, for example the packages nodejs and npm of Debian' >&2; exit 1; }
	cd playground && npm ci --no-audit --no-fund --ignore-scripts
	@touch $@

.PHONY: playground-test
playground-test: build playground-build ## Test the playground in headless Chromium, which is installed if it is missing
	hack/playground-test.sh
