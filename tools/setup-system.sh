#!/bin/sh
# Installs, by package name and only what is missing, what building and testing need beyond git, Rust, Node and Python.
set -eu

missing=
command -v make >/dev/null || missing="$missing make"
command -v cc >/dev/null || missing="$missing gcc libc6-dev"
python3 -c 'import ensurepip, venv' 2>/dev/null || missing="$missing python3-venv"
command -v chromium >/dev/null || command -v chromium-browser >/dev/null || command -v google-chrome >/dev/null ||
    [ -n "${CHROMIUM:-}" ] || missing="$missing chromium"
[ -n "$missing" ] || exit 0

if [ "$(id -u)" = 0 ]; then
    root=
elif command -v sudo >/dev/null && sudo -n true 2>/dev/null; then
    root=sudo
else
    root=none
fi
if [ "$root" = none ] || ! command -v apt-get >/dev/null; then
    echo "setup: these packages are missing and only an administrator of this machine can install them:$missing" >&2
    [ "$missing" = " chromium" ] || exit 1
    echo "setup: going on; without chromium the test of the page in a browser is skipped" >&2
    exit 0
fi
echo "setup: installing$missing"
export DEBIAN_FRONTEND=noninteractive
$root apt-get update -q
# shellcheck disable=SC2086 -- one word per package is what is wanted
$root apt-get install -q -y --no-install-recommends $missing
