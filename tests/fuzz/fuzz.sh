#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# fuzz.sh SECONDS: builds the fuzzers and runs each for so long, two at a time. `./dev fuzz` calls it.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."
seconds="$1"
build=build/fuzz

[[ "$build/build.ninja" -nt CMakePresets.json ]] || cmake --preset fuzz >&2
cmake --build --preset fuzz --target twinstep_fuzz_replay twinstep_fuzzers >&2
mkdir -p "$build/artifacts"

run_one() { # TARGET BYTES_MAX
    local found="$build/corpus/$1" log="$build/$1.log"
    mkdir -p "$found"
    # One input may take a second, under the sanitizers on a busy machine; memory is a promise too.
    if "$build/tests/fuzz/twinstep_fuzz_$1" -max_total_time="$seconds" -max_len="$2" -timeout=10 \
        -rss_limit_mb=1024 -artifact_prefix="$build/artifacts/$1-" -print_final_stats=1 -verbosity=1 \
        "$found" "tests/fuzz/corpus/$1" >"$log" 2>&1; then
        echo "$1: $(sed -n 's/^stat::number_of_executed_units: //p' "$log") inputs, no finding"
    else
        echo "$1: FAILED" >&2
        tail -n 60 "$log" >&2
        return 1
    fi
}
export -f run_one
export build seconds

"$build/tests/fuzz/twinstep_fuzz_replay" --list |
    xargs -P 2 -n 2 bash -euo pipefail -c 'run_one "$@"' run_one
