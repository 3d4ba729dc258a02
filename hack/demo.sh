#!/usr/bin/env bash
#
# The demo runs reconcel with the rules of two examples: `hack/demo.sh memory` in a cluster in
# memory, `hack/demo.sh cluster` on a real control plane. `make demo` and `make demo-cluster`
# build everything that the demo needs and call this script.
#
# On a terminal it runs until Ctrl-C, and elsewhere it ends with exit code 0. It
# removes everything that it has created, even after an error.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

readonly foo=examples/foo dbm=examples/databasemanager
readonly on=${1:-memory}
readonly crd_files=(crds/samplecontroller.k8s.io_foos.yaml crds/coolops.cn_databasemanagers.yaml)
readonly crds=(foos.samplecontroller.k8s.io databasemanagers.coolops.cn)

work=$(mktemp -d "${TMPDIR:-/tmp}/reconcel-demo.XXXXXX")
readonly work log=$work/reconcel.log
cluster_pid='' reconcel_pid='' wait_pid='' kubeconfig='' client=() namespace=default
patience=120s made_namespace=false made_crds=false

# --- Output ----------------------------------------------------------------

bold='' dim='' plain=''
if [[ -t 1 && -z ${NO_COLOR:-} && ${TERM:-dumb} != dumb ]]; then
	bold=$'\e[1m' dim=$'\e[2m' plain=$'\e[0m'
fi

step() { printf '\n%s=> %s%s\n' "$bold" "$*" "$plain"; }
note() { printf '   %s\n' "$*"; }

# command_line prints a command as a user would type it.
command_line() {
	local word line='$'
	for word in "$@"; do
		if [[ $word =~ [^A-Za-z0-9_./:=,+-] ]]; then word="'$word'"; fi
		line+=" $word"
	done
	printf '%s%s%s\n' "$dim" "$line" "$plain"
}

# show prints a kubectl command and runs it.
show() {
	command_line kubectl "$@"
	kubectl "$@"
}

fail() {
	printf '\n%sdemo: %s%s\n' "$bold" "$*" "$plain" >&2
	exit 1
}

# converge runs kubectl wait, and fails early if reconcel ends.
converge() {
	command_line kubectl wait "$@"
	"${client[@]}" wait --timeout="$patience" "$@" {hold}>&- &
	wait_pid=$!
	while running "$wait_pid"; do
		running "$reconcel_pid" || fail 'reconcel has ended'
		sleep 0.1
	done
	wait "$wait_pid" || fail 'it did not converge'
}

# --- Cleanup ---------------------------------------------------------------

running() { [[ -n $1 ]] && kill -0 "$1" 2>/dev/null; }

# end terminates a process, and kills it after ten seconds.
end() {
	running "$1" || return 0
	kill -TERM "$1" 2>/dev/null || return 0
	for ((i = 0; i < 100; i++)); do
		running "$1" || return 0
		sleep 0.1
	done
	kill -KILL "$1" 2>/dev/null || true
}

cleanup() {
	local code=$?
	set +e               # Continue after errors: the terminal may be gone, for example.
	trap '' INT TERM HUP # Run the cleanup only once.
	trap - EXIT
	if ((code != 0 && code < 128)) && [[ -s $log ]]; then
		printf '\nThe end of the log of reconcel:\n' >&2
		tail -n 40 "$log" >&2
	fi
	end "$wait_pid"
	end "$reconcel_pid"
	if [[ -n $borrowed ]] && { $made_namespace || $made_crds; }; then
		step 'Removing what the demo made' >&2
		if $made_namespace; then kubectl delete namespace "$namespace" --timeout=120s >&2; fi
		if $made_crds; then kubectl delete crd "${crds[@]}" --ignore-not-found --timeout=120s >&2; fi
	fi
	exec {hold}>&- # The cluster ends when its stdin does.
	if running "$cluster_pid"; then
		for ((i = 0; i < 300; i++)); do
			running "$cluster_pid" || break
			sleep 0.1
		done
		end "$cluster_pid"
	fi
	rm -rf "$work"
	exit "$code"
}

borrowed=''
if [[ $on == cluster ]]; then borrowed=${DEVCLUSTER_KUBECONFIG:-}; fi
exec {hold}>/dev/null
trap cleanup EXIT
trap 'exit 130' INT
trap 'exit 143' TERM
trap 'exit 129' HUP

# --- The cluster -----------------------------------------------------------

kubectl() { "${client[@]}" "$@" {hold}>&-; }

# talk configures the client for the cluster and the namespace.
talk() {
	if [[ $on == memory ]]; then
		client=("$(type -P kubectl || echo bin/kubectl)")
	elif [[ -n $borrowed ]]; then
		client=("$(type -P kubectl)")
	else
		client=(bin/devcluster kubectl)
	fi
	client+=(--kubeconfig="$kubeconfig" --namespace="$namespace")
}

# field prints the value of a key in the line of JSON that devcluster prints.
field() { sed -n "s/.*\"$1\":\"\([^\"]*\)\".*/\1/p" "$work/cluster.json"; }

start_cluster() {
	if [[ -n $borrowed ]]; then
		type -P kubectl >/dev/null || fail "a cluster was given, but there is no kubectl to talk to it"
		step "Using the cluster of $borrowed"
	else
		step 'Starting Kubernetes on loopback'
	fi
	# If this script is killed, the pipe closes, and so the cluster still stops.
	exec {hold}>&-
	exec {hold}> >(trap '' INT; exec bin/devcluster up --until-stdin-closes >"$work/cluster.json")
	cluster_pid=$!
	until [[ -s $work/cluster.json ]]; do
		running "$cluster_pid" || fail 'the cluster did not start'
		sleep 0.1
	done
	kubeconfig=$(field kubeconfig)
	controller_kubeconfig=$(field reconcel)
	: "${controller_kubeconfig:=$kubeconfig}"
	talk
}

# borrow prepares the cluster of a user, and changes nothing that exists there.
borrow() {
	local crd
	patience=600s # Images may have to be pulled.
	for crd in "${crds[@]}"; do
		if kubectl get crd "$crd" --output=name >/dev/null 2>&1; then
			fail "the cluster has $crd already, and the demo would act on objects that are not its own"
		fi
	done
	namespace=reconcel-demo-$$
	talk
	show create namespace "$namespace"
	made_namespace=true
}

# --- reconcel --------------------------------------------------------------

# start_memory starts reconcel with a cluster of its own.
start_memory() {
	step 'Starting a cluster in memory, and reconcel with the rules of the examples'
	command_line reconcel dev -f "$foo/rules.yaml" -f "$dbm/rules.yaml" --crd "${crd_files[0]}" --crd "${crd_files[1]}" \
		--ready-after=500ms
	note "its log: $log"
	kubeconfig=$work/kubeconfig
	bin/reconcel dev --rules="$foo/rules.yaml" --rules="$dbm/rules.yaml" --crd="${crd_files[0]}" --crd="${crd_files[1]}" \
		--ready-after=500ms --write-kubeconfig="$kubeconfig" --log-level=info {hold}>&- >"$log" 2>&1 </dev/null &
	cluster_pid=$! reconcel_pid=$!
	until [[ -s $kubeconfig ]]; do
		running "$reconcel_pid" || fail 'the cluster did not start'
		sleep 0.1
	done
	talk
}

start_reconcel() {
	step 'Starting reconcel with the rules of the examples'
	local flags=(--rules="$foo/rules.yaml" --rules="$dbm/rules.yaml" --listen=127.0.0.1:0)
	if [[ -n $borrowed ]]; then flags+=(--name=reconcel-demo --namespace="$namespace"); fi
	command_line reconcel run -f "$foo/rules.yaml" -f "$dbm/rules.yaml"
	note "its log: $log"
	bin/reconcel run "${flags[@]}" --kubeconfig="$controller_kubeconfig" {hold}>&- >"$log" 2>&1 </dev/null &
	reconcel_pid=$!
}

# --- Steps -----------------------------------------------------------------

# await retries a command until it succeeds.
await() {
	local what=$1 i
	shift
	for ((i = 0; i < 600; i++)); do
		"$@" && return
		running "$reconcel_pid" || fail 'reconcel has ended'
		sleep 0.05
	done
	fail "$what did not happen within 30 seconds"
}

uid() { kubectl get deployment example-foo --output='jsonpath={.metadata.uid}' 2>/dev/null || true; }
replaced() { local now; now=$(uid); [[ -n $now && $now != "$1" ]]; }
image_is() { [[ $(kubectl get deployment example-foo --output='jsonpath={.spec.template.spec.containers[0].image}') == "$1" ]]; }

create() {
	step 'A Foo and two DatabaseManagers'
	show apply -f "$foo/foo.yaml" -f "$dbm/secret.yaml" -f "$dbm/mysql.yaml" -f "$dbm/mariadb.yaml"
	converge --for=condition=Ready foo/example-foo databasemanager/orders databasemanager/metrics
	show get foos,databasemanagers
	show get deployments,pods --show-labels
}

edit() {
	step 'The Foo is edited: its Deployment follows, and so does its status'
	show patch foo example-foo --type=merge --patch='{"spec":{"replicas":3}}'
	converge --for='jsonpath={.status.availableReplicas}=3' foo/example-foo
	show get foo example-foo
}

change_type() {
	step 'A DatabaseManager changes its type: the Deployment stays, with another server in it'
	show patch databasemanager orders --type=merge --patch='{"spec":{"dbtype":"mariadb"}}'
	show scale databasemanager orders --replicas=2
	converge --for='jsonpath={.status.availableReplicas}=2' databasemanager/orders
	converge --for=condition=Ready databasemanager/orders
	show get deployment orders-db --output=wide
}

repair() {
	step 'A user edits the Deployment: reconcel restores it'
	show set image deployment/example-foo nginx=httpd:latest
	await 'the repair' image_is nginx:latest
	show get deployment example-foo --output=wide

	step 'A user deletes the Deployment: reconcel creates it again'
	local before
	before=$(uid)
	show delete deployment example-foo
	await 'the repair' replaced "$before"
	converge --for=condition=Available deployment/example-foo
	converge --for=condition=Ready foo/example-foo
	show get deployment example-foo
}

mistake() {
	step 'A Foo without a deploymentName: it says so itself'
	kubectl apply -f - <<-'YAML'
		apiVersion: samplecontroller.k8s.io/v1alpha1
		kind: Foo
		metadata:
		  name: nameless
		spec:
		  replicas: 1
	YAML
	converge --for=condition=Stalled foo/nameless
	show get foos --output=wide
	show events --for=foo/nameless
	show delete foo nameless
}

go_on() {
	step 'Go on by yourself, in another terminal'
	local kubectl=kubectl
	note "export KUBECONFIG=$kubeconfig"
	if [[ -n $borrowed ]]; then
		kubectl="kubectl --namespace=$namespace"
	elif ! type -P kubectl >/dev/null; then
		note "alias kubectl='$PWD/${client[*]:0:${#client[@]}-1}'"
	fi
	note "$kubectl get foos,databasemanagers"
	note "$kubectl scale databasemanager orders --replicas=2"
	note "$kubectl events --for=databasemanager/orders"
	note "tail -f $log"
	printf '\n%sCtrl-C ends the demo and removes everything.%s\n' "$bold" "$plain"
}

stay() {
	trap 'printf "\n"; exit 0' INT
	go_on
	while running "$reconcel_pid" && running "$cluster_pid"; do
		[[ -t 0 ]] || exit 129 # The terminal is gone. make may have caught the signal.
		sleep 1
	done
	fail 'reconcel or the cluster has ended'
}

if [[ $on == memory ]]; then
	start_memory
else
	start_cluster
	if [[ -n $borrowed ]]; then borrow; fi
	step 'The kinds of the examples'
	made_crds=true
	show apply -f "${crd_files[0]}" -f "${crd_files[1]}"
	show wait --for=condition=Established --timeout=30s crd "${crds[@]}"
	start_reconcel
fi
create
edit
change_type
repair
mistake
running "$reconcel_pid" || fail 'reconcel has ended'
if [[ -t 0 && -t 1 ]]; then
	stay
fi
step 'Everything converged'
