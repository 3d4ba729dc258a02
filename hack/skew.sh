#!/usr/bin/env bash
#
# Runs reconcel on several minors of Kubernetes: the examples, a sample of the campaign,
# and the tests that compare what diff foretells with what run writes. Before these, it
# checks that the servers have the right version, and that they reject what named checks
# say. `make skew` builds what this script needs and calls it with the minors.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

for name in DEVCLUSTER_KUBECONFIG KUBEBUILDER_ASSETS; do
	[[ -z ${!name:-} ]] || { echo "skew: unset $name, because each minor needs a cluster of its own" >&2; exit 1; }
done

# All minors get the same sample of the campaign.
seed=${RECONCEL_SEED:-$RANDOM}
unset RECONCEL_SEED # Commands reject variables of this prefix that are not theirs.

# names prints a pattern of the tests in files.
names() { printf '^(%s)$' "$(sed -nE 's/^func (Test\w+).*/\1/p' "$@" | sort -u | paste -sd '|')"; }

# tests runs tests, in minutes at most.
tests() { go test -tags integration -count 1 -timeout "$1m" "${@:2}"; }

parts=(version answers examples campaign diff)
part() {
	case $1 in
	version) tests 5 -run '^TestServerHasTheSelectedVersion$' ./test/devcluster ;;
	answers) tests 5 -run '^TestAnswers$' ./test/apifacts ;;
	examples) tests 30 -parallel 4 -run "$(names test/examples/*_integration_test.go)" ./test/examples ;;
	campaign) RECONCEL_SEED=$seed tests 30 -parallel 8 -run '^TestFaults$' ./test/campaign ;;
	diff) tests 30 -parallel 4 -run "$(names cli/diff*_integration_test.go)" ./cli ;;
	esac
}

results=() code=0
for minor in "$@"; do
	export DEVCLUSTER_KUBERNETES=$minor
	version=$(bin/devcluster versions | sed -n "s/^$minor //p")
	printf '\n===== Kubernetes %s\n' "${version:-$minor}"
	bin/devcluster build
	result=$(printf '%-10s' "$version") began=$SECONDS
	for name in "${parts[@]}"; do
		start=$SECONDS outcome=ok
		printf '%s on %s\n' "$name" "$version"
		part "$name" || outcome=FAILED code=1
		result+=$(printf '  %s %s (%d s)' "$name" "$outcome" $((SECONDS - start)))
	done
	results+=("$result  in $(((SECONDS - began + 30) / 60)) min")
done

printf '\n===== Summary, with RECONCEL_SEED=%s\n' "$seed"
printf '%s\n' "${results[@]}"
exit "$code"
