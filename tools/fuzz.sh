#!/bin/sh
# Gives arbitrary bytes to each parser of foreign bytes for a while: `tools/fuzz.sh SECONDS [TARGET...]`. Stable Rust will do.
set -eu
cd "$(dirname "$0")/../fuzz"
seconds=$1
shift
command -v c++ >/dev/null || { echo "fuzz: libFuzzer is in C++ and needs a compiler: apt-get install g++" >&2; exit 1; }
[ $# -gt 0 ] || set -- $(sed -n 's/^name = "\(.*_.*\)"/\1/p' Cargo.toml)

# What cargo-fuzz would pass, without the sanitizers that only nightly Rust has: the crates forbid unsafe code anyway.
export RUSTFLAGS="--cfg fuzzing -Cpasses=sancov-module -Ccodegen-units=1 -Cdebug-assertions -Coverflow-checks
 -Cllvm-args=-sanitizer-coverage-level=4 -Cllvm-args=-sanitizer-coverage-inline-8bit-counters
 -Cllvm-args=-sanitizer-coverage-pc-table -Cllvm-args=-sanitizer-coverage-trace-compares"
export CARGO_TARGET_DIR="${CARGO_TARGET_DIR:-$PWD/../target}/fuzz"
host=$(rustc -vV | sed -n 's/^host: //p')
cargo build --release --target "$host"
for target; do
    corpus="$CARGO_TARGET_DIR/corpus/$target"
    mkdir -p "$corpus"
    echo "fuzz: $target for $seconds s"
    "$CARGO_TARGET_DIR/$host/release/$target" -max_total_time="$seconds" -rss_limit_mb=2048 -print_final_stats=1 \
        -verbosity=0 -artifact_prefix="$CARGO_TARGET_DIR/crash-$target-" "$corpus"
done
