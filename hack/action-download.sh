#!/usr/bin/env bash
#
# Downloads a release for action.yml. The environment has ARCHIVE, the URL of its archive,
# SHA256, the checksum, and RECONCEL, the file to write the binary to.

set -euo pipefail

# Without it, whoever can replace the archive could run code in the pipeline.
if [[ ! $SHA256 =~ ^[0-9a-f]{64}$ ]]; then
	echo "::error::sha256: expected the checksum of ${ARCHIVE##*/} from SHA256SUMS of the release"
	exit 2
fi
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT
curl --fail --silent --show-error --location --retry 3 --output "$work/archive" "$ARCHIVE"
got=$(openssl dgst -sha256 -r "$work/archive")
if [[ ${got%% *} != "$SHA256" ]]; then
	echo "::error::$ARCHIVE: its checksum is ${got%% *}, expected $SHA256"
	exit 1
fi
case $ARCHIVE in
*.zip) unzip -q "$work/archive" -d "$work" ;;
*) tar -xzf "$work/archive" -C "$work" ;;
esac
mv "$work"/reconcel* "$RECONCEL"
