#!/bin/sh
# Runs two commands at once: what the first prints comes as it is printed, what the second prints when it has ended.
set -eu
printed=$(mktemp)
setsid sh -c "$2" > "$printed" 2>&1 &
second=$!
trap 'kill -- -$second 2>/dev/null || true; rm -f "$printed"' EXIT
trap 'exit 130' INT TERM
sh -c "$1"
status=0
wait $second || status=$?
cat "$printed"
exit $status
