#!/usr/bin/env bash
#
# Downloads the schemas of Kubernetes' own kinds from the development cluster, and
# packs them for rules/schema. `make schemas` builds everything that this script
# needs and calls it.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

work=$(mktemp -d "${TMPDIR:-/tmp}/reconcel-schemas.XXXXXX")
readonly work
cluster_pid=''

cleanup() {
	local code=$?
	trap - EXIT
	exec {hold}>&- # The cluster stops when its stdin closes.
	if [[ -n $cluster_pid ]]; then wait "$cluster_pid" || true; fi
	rm -rf "$work"
	exit "$code"
}

exec {hold}>/dev/null
trap cleanup EXIT

mkfifo "$work/hold"
bin/devcluster up --until-stdin-closes <"$work/hold" >"$work/cluster.json" &
cluster_pid=$!
exec {hold}>&-
exec {hold}>"$work/hold"
until [[ -s $work/cluster.json ]]; do
	kill -0 "$cluster_pid" 2>/dev/null || { echo 'schemas: the cluster did not start' >&2; exit 1; }
	sleep 0.1
done
kubeconfig=$(sed -n 's/.*"kubeconfig":"\([^"]*\)".*/\1/p' "$work/cluster.json")

get() { bin/devcluster kubectl --kubeconfig="$kubeconfig" get --raw "$1" {hold}>&-; }

# Use only versions that are generally available: others change with each release.
paths=$(get /openapi/v3 | grep -oE '"(api/v1|apis/[^/"]+/v[0-9]+)":' | tr -d '":')
for path in $paths; do
	get "/openapi/v3/$path" >"$work/${path//\//_}.json"
done
rm "$work/cluster.json"
go run ./test/schemapack rules/schema/kubernetes.gz rules/schema/descriptions.gz "$work"/*.json
wc -c rules/schema/*.gz
