#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fuzz.sh [MINUTES [TARGET...]]: builds the fuzzers and runs all targets, or these, two at a time: for
# so many minutes in all, or each for 20 s. `./dev fuzz` calls it. FUZZ_JOBS: how many at a time.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
minutes="${1:-}"
shift || true
jobs="${FUZZ_JOBS:-2}"
build=build/fuzz
[[ -z "$minutes" || "$minutes" =~ ^[1-9][0-9]{0,4}$ ]] || {
    echo "fuzz: MINUTES is a whole number from 1, not '$minutes'" >&2
    exit 2
}

[[ "$build/build.ninja" -nt CMakePresets.json ]] || cmake --preset fuzz >&2
cmake --build --preset fuzz --target twinstep_fuzz_replay twinstep_fuzzers >&2
mkdir -p "$build/artifacts"

list="$("$build/tests/fuzz/twinstep_fuzz_replay" --list)"
for target in "$@"; do
    grep -q "^$target " <<<"$list" || {
        printf 'fuzz: no target %s; there are:\n%s\n' "$target" "$(cut -d' ' -f1 <<<"$list")" >&2
        exit 2
    }
done
[[ $# == 0 ]] || list="$(grep -E "^($(
    IFS='|'
    echo "$*"
)) " <<<"$list")"
targets="$(wc -l <<<"$list")"
seconds=20
[[ -z "$minutes" ]] || seconds="$(((minutes * 60 * jobs + targets - 1) / targets))"
echo "fuzz: $targets targets, $seconds s each, $jobs at a time" >&2

run_one() { # TARGET BYTES_MAX
    local found="$build/corpus/$1" log="$build/$1.log"
    mkdir -p "$found"
    # One input may take a second, under the sanitizers on a busy machine; memory is a promise too.
    if "$build/tests/fuzz/twinstep_fuzz_$1" -max_total_time="$seconds" -max_len="$2" -timeout=10 \
        -rss_limit_mb=1024 -malloc_limit_mb=128 -artifact_prefix="$build/artifacts/$1-" \
        -print_final_stats=1 -verbosity=1 "$found" "tests/fuzz/corpus/$1" >"$log" 2>&1; then
        echo "$1: $(sed -n 's/^stat::number_of_executed_units: //p' "$log") inputs in $seconds s, no finding"
    else
        echo "$1: FAILED" >&2
        tail -n 60 "$log" >&2
        return 1
    fi
}
export -f run_one
export build seconds

xargs -P "$jobs" -n 2 bash -euo pipefail -c 'run_one "$@"' run_one <<<"$list"
