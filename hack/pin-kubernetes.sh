#!/usr/bin/env bash
#
# Pins the versions of Kubernetes that devcluster can run, one of each minor:
#
#   hack/pin-kubernetes.sh 1.37      # the newest patch that the Go proxy serves
#   hack/pin-kubernetes.sh 1.37.2    # this one
#   hack/pin-kubernetes.sh           # the newest patch of each minor that is pinned
#
# It writes hack/devcluster/kubernetes/1.37.mod and .sum. A minor without these files does
# not exist for devcluster, so removing them drops it.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/devcluster/controlplane"

readonly module=k8s.io/kubernetes

work=$(mktemp -d "${TMPDIR:-/tmp}/pin-kubernetes.XXXXXX")
readonly work
trap 'rm -rf "$work"' EXIT

newest() {
	(cd .. && go list -m -versions "$module") | tr ' ' '\n' | grep -xE "v${1//./\\.}\.[0-9]+" | sort -V | tail -n 1 || true
}

# download prints a field of what `go mod download` tells about a version of Kubernetes.
download() {
	go mod download -modfile="$1" -json "$module@$2" | sed -nE "s/^\t\"$3\": \"(.*)\",?\$/\1/p"
}

pin() {
	local wanted=$1 version minor gomod
	case $wanted in
	*.*.*) version=v$wanted ;;
	*) version=$(newest "$wanted") ;;
	esac
	[[ -n $version ]] || { echo "pin-kubernetes: the Go proxy serves no release of Kubernetes $wanted" >&2; exit 1; }
	minor=${version#v} minor=${minor%.*}
	echo "Kubernetes $minor: $version" >&2

	# The versions of etcd and of all other modules are those in Kubernetes' own go.mod,
	# and so are Go's compatibility settings.
	printf 'module reconcel/hack/devcluster/controlplane\n' >"$work/new.mod"
	gomod=$(download "$work/new.mod" "$version" GoMod)
	{
		printf '// Written by hack/pin-kubernetes.sh.\n\nmodule reconcel/hack/devcluster/controlplane\n\n'
		grep -E '^(go|godebug) ' "$gomod"
		printf '\nrequire %s %s\n\n' "$module" "$version"
		printf '// Kubernetes finds the modules of its staging folder in its own tree. A module that\n'
		printf '// imports it must name the published ones.\nreplace (\n'
		sed -nE "s|^\s*(k8s\.io/\S+) => \./staging/.*|\t\1 => \1 v0${version#v1}|p" "$gomod"
		printf ')\n'
	} >"$work/new.mod"
	rm -f "$work/new.sum"
	go mod tidy -modfile="$work/new.mod"
	mv "$work/new.mod" "../kubernetes/$minor.mod"
	mv "$work/new.sum" "../kubernetes/$minor.sum"
}

all=("$@")
if ((!$#)); then
	all=(../kubernetes/*.mod)
	all=("${all[@]##*/}")
	all=("${all[@]%.mod}")
fi
for one in "${all[@]}"; do
	pin "$one"
done
