#!/bin/sh
# Builds the program of an earlier revision, as a node of a cluster and without its page, and prints where it is: `tools/older.sh REV`.
set -eu
cd "$(dirname "$0")/.."
[ $# -eq 1 ] && [ -n "$1" ] || { echo "older: say of which revision, as in tools/older.sh HEAD~60" >&2; exit 2; }
revision=$(git rev-parse --short "$1^{commit}")
target=${CARGO_TARGET_DIR:-$PWD/target}/older
program=$target/pvark-$revision
if [ ! -x "$program" ]; then
    tree=$target/$revision
    git worktree add --quiet --force --detach "$tree" "$revision" >&2
    trap 'git worktree remove --force "$tree"' EXIT
    (cd "$tree" && CARGO_TARGET_DIR="$target/target" cargo build --quiet --release -p pvark --features s3,cql) >&2
    mv "$target/target/release/pvark" "$program"
fi
echo "$program"
