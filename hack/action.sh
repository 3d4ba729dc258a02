#!/usr/bin/env bash
#
# Runs a command of reconcel for action.yml. The environment has RECONCEL, the binary,
# and COMMAND, FILES (one in a line) and ARGS (separated by blanks).

set -euo pipefail

arguments=()
while IFS= read -r file; do
	[[ -n $file ]] || continue
	[[ $COMMAND == test ]] || arguments+=(-f)
	arguments+=("$file")
done <<<"$FILES"

case $COMMAND in
validate | test | plan) arguments+=(-o github) ;;
fmt) arguments+=(--check) ;;
*)
	echo "::error::command $COMMAND: expected validate, test, plan or fmt"
	exit 2
	;;
esac
read -ra more <<<"$ARGS"
exec "$RECONCEL" "$COMMAND" "${arguments[@]}" "${more[@]}"
