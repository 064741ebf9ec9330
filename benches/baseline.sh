#!/bin/sh
# Builds the benchmark of this checkout on the crates of an earlier commit, for `--baseline`.
#
# usage: benches/baseline.sh COMMIT FOLDER
#
# The earlier commit goes to FOLDER/checkout, with the folder `benches` of this checkout. The
# results are FOLDER/gmp-bench and FOLDER/gmp-bench-mimalloc. The build uses CARGO_TARGET_DIR if
# it is set, else FOLDER/target.
set -eu

if [ $# -ne 2 ]; then
    sed -n '2,/^set/s/^# \{0,1\}//p' "$0" >&2
    exit 2
fi
root=$(cd "$(dirname "$0")/.." && pwd)
mkdir -p "$2"
folder=$(cd "$2" && pwd)
checkout=$folder/checkout
target=${CARGO_TARGET_DIR:-$folder/target}

rm -rf "$checkout"
mkdir "$checkout"
git -C "$root" archive "$1" | tar -x -C "$checkout"
rm -rf "$checkout/benches"
cp -R "$root/benches" "$checkout/benches"

if ! cargo build --release --manifest-path "$checkout/Cargo.toml" --target-dir "$target" \
    --package gmp-bench --bin gmp-bench --bin gmp-bench-mimalloc; then
    echo "benches/baseline.sh: if the public API has changed since $1, adapt" \
        "$checkout/benches/src/contestant.rs and build there" >&2
    exit 1
fi
cp "$target/release/gmp-bench" "$target/release/gmp-bench-mimalloc" "$folder/"
echo "$folder/gmp-bench"
