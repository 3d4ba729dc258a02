#!/usr/bin/env bash
#
# Counts the files of engine and rules that one repair and one edit of rules.yaml run
# through, on a real control plane. `make walks` calls this script. A process that does
# nothing but start is the measure: a file counts if a statement in it ran more often.
# With -v it lists the files.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

work=$(mktemp -d "${TMPDIR:-/tmp}/reconcel-walks.XXXXXX")
reconcel_pid='' cluster_pid=''
cleanup() {
	[[ -z $reconcel_pid ]] || kill "$reconcel_pid" 2>/dev/null || true
	exec {hold}>&- # The cluster ends when its stdin does.
	while [[ -n $cluster_pid ]] && kill -0 "$cluster_pid" 2>/dev/null; do sleep 0.1; done
	rm -rf "$work"
}
exec {hold}>/dev/null
trap cleanup EXIT

# await retries a command until it succeeds.
await() {
	local what=$1 i
	shift
	for ((i = 0; i < 600; i++)); do
		"$@" && return
		sleep 0.1
	done
	echo "walks: waited a minute for $what" >&2
	exit 1
}

go build -cover -covermode=atomic -coverpkg=.,./engine/...,./rules/... -o "$work/reconcel" .
exec {hold}> >(trap '' INT; exec bin/devcluster up --until-stdin-closes >"$work/cluster.json")
cluster_pid=$!
await 'the cluster' test -s "$work/cluster.json"
kubeconfig=$(sed -n 's/.*"kubeconfig":"\([^"]*\)".*/\1/p' "$work/cluster.json")
kubectl() { bin/devcluster kubectl --kubeconfig="$kubeconfig" "$@" {hold}>&-; }
logged() { grep -q "$1" "$work/log"; }

# walk runs a process, a change and what awaits its effect, and stores the counters.
walk() {
	local name=$1 change=$2 effect=$3
	cp examples/foo/rules.yaml "$work/rules.yaml"
	mkdir "$work/$name"
	GOCOVERDIR=$work/$name "$work/reconcel" run -f "$work/rules.yaml" --log-level=debug --listen=127.0.0.1:0 \
		--kubeconfig="$kubeconfig" {hold}>&- >"$work/log" 2>&1 </dev/null &
	reconcel_pid=$!
	await 'a Foo that is ready' logged 'object=Foo/default/example-foo state=ready'
	began=$SECONDS
	"$change" >/dev/null
	await "$name" "$effect"
	kill -TERM "$reconcel_pid"
	wait "$reconcel_pid" || true
	reconcel_pid=''
	go tool covdata textfmt -i="$work/$name" -o="$work/$name.txt"
}

image() { kubectl get deployment example-foo --output='jsonpath={.spec.template.spec.containers[0].image}'; }
image_is() { [[ $(image) == "$1" ]]; }
restored() { image_is nginx:latest; }
by_hand() { kubectl set image deployment/example-foo nginx=httpd:latest; }
of_rules() { sed -i 's/nginx:latest/nginx:stable/' "$work/rules.yaml"; }
edited() { image_is nginx:stable; }

kubectl apply -f crds/samplecontroller.k8s.io_foos.yaml -f examples/foo/foo.yaml >/dev/null 2>&1 ||
	await 'the kind Foo' kubectl apply -f examples/foo/foo.yaml
rested() { ((SECONDS >= began + 20)); } # The Lease is renewed meanwhile, for example.
walk start true true
walk rest true rested
walk repair by_hand restored
walk edit of_rules edited

files() {
	awk -F'[: ]' 'NR == FNR { before[$1 ":" $2] = $NF; next } FNR > 1 && $NF > before[$1 ":" $2] { print $1 }' \
		"$work/rest.txt" "$work/$1.txt" | grep -v '/main.go$' | sort -u
}
for name in repair edit; do
	echo "$name: $(files "$name" | wc -l) files of engine and rules, in $(files "$name" | xargs -n1 dirname | sort -u | wc -l) packages"
	if [[ ${1:-} == -v ]]; then files "$name" | sed 's/^/  /'; fi
done
