#!/usr/bin/env bash
#
# Serves the playground on loopback, and tests it in headless Chromium, which is
# installed if it is missing.

set -euo pipefail
cd "$(dirname "${BASH_SOURCE[0]}")/.."

if ! command -v "${CHROMIUM:-chromium}" >/dev/null; then
	as_root=()
	((EUID == 0)) || as_root=(sudo)
	"${as_root[@]}" apt-get update -q
	"${as_root[@]}" apt-get install -y -q --no-install-recommends chromium
fi
CHROMIUM=$(command -v "${CHROMIUM:-chromium}")

coproc server { exec bin/playground-serve -listen 127.0.0.1:0 bin/playground; }
pid=$!
trap 'kill $pid' EXIT
read -r PLAYGROUND <&"${server[0]}"
export CHROMIUM PLAYGROUND RECONCEL=$PWD/bin/reconcel
cd playground && node --test test/
