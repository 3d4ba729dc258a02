#!/usr/bin/env bash
#
# Builds the binary of the image twice, from clones of the last commit in folders
# with different names, and compares the results.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
for folder in one another/and/deeper; do
	git clone --quiet . "$work/$folder"
	make --quiet -C "$work/$folder" image-files >/dev/null
done
cmp "$work/one/bin/image/reconcel" "$work/another/and/deeper/bin/image/reconcel"
[[ $("$work/one/bin/image/reconcel" version) == "$("$work/another/and/deeper/bin/image/reconcel" version)" ]]
echo "the same twice: $(sha256sum <"$work/one/bin/image/reconcel")"
