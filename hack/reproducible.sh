#!/usr/bin/env bash
#
# reproducible.sh TARGET FOLDER: runs make TARGET twice, in clones of the last commit in
# folders with different names, and compares all files of FOLDER.

set -euo pipefail
target=$1 made=$2
cd "$(dirname "${BASH_SOURCE[0]}")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for folder in one another/and/deeper; do
	git clone --quiet . "$work/$folder"
	make --quiet -C "$work/$folder" "$target" >/dev/null
done
diff -r "$work/one/$made" "$work/another/and/deeper/$made"
cd "$work/one/$made"
[[ ! -f SHA256SUMS ]] || sha256sum --quiet --check SHA256SUMS
echo 'the same twice, with these checksums and bytes:'
sha256sum -- *
wc -c -- *
