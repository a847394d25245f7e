#!/bin/bash
# Runs a command with loopback alone, where tests may cut its addresses off: apart.sh COMMAND… (PVARK_APART is set in it then).
# Where that is not permitted it says so, and runs the command as it is.
set -euo pipefail
# The table of local addresses comes first by default, before any rule that could stop something.
rules='ip link set lo up && ip rule add pref 100 lookup local && ip rule del pref 0 lookup local'
if command -v ip > /dev/null && unshare -n sh -c "$rules" 2> /dev/null; then
    exec unshare -n sh -c "$rules"' && PVARK_APART=1 exec "$@"' sh "$@"
fi
echo "apart: not available here: only root may have a network of its own (and it needs ip); nothing will be cut off in it" >&2
exec "$@"
