#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds the twinstep command for other CPUs and systems and proves there that recordings replay.
#   cross.sh [PRESET...]   default: aarch64-linux s390x-linux x86_64-windows
# For each target: the known answers; three blocks of each mathematical function; one recording of each
# game verified; the beginning of the same sessions recorded anew, which must have the same inputs and
# hashes; and the recording that must fail, which must fail with the exit code of a divergence.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."

# Recording of the corpus, ticks to record anew, the options of record that made it (see corpus.py).
sessions='
marine/bots-one  1400  --from bot:1 --seed 11
swarm/bots-four   100  --from bot:5 --seed 5 --slots 4
pile/bot-calm     100  --from bot:4 --seed 4
'

fail() {
    echo "cross: $preset: $*" >&2
    exit 1
}

step() {
    echo "cross: $preset: $* (${SECONDS} s)"
}

# The inputs and hashes of the first ticks as text, without the checks, which hang on the session's id.
first_ticks() { # RECORDING TICKS
    "${twinstep[@]}" cat "$1" --format ndjson | grep '"type":"tick"' | sed -n "1,$2p" |
        sed -E 's/,"check":"[0-9a-f]*"//'
}

check_target() {
    cmake --preset "$preset" >&2
    cmake --build --preset "$preset" --target twinstep_command twinstep_math_sweep >&2
    local emulator
    emulator="$(sed -n 's/^set(CMAKE_CROSSCOMPILING_EMULATOR \(.*\))$/\1/p' "cmake/toolchains/$preset.cmake")"
    twinstep=("$emulator" "build/$preset/tools/twinstep")
    [[ -x "${twinstep[1]}" ]] || twinstep[1]+=.exe
    [[ -x "${twinstep[1]}" ]] || fail "the build made no ${twinstep[1]}"
    local sweep="build/$preset/tests/math/math_sweep"
    [[ -x "$sweep" ]] || sweep+=.exe

    step "self-test"
    "${twinstep[@]}" self-test >"$work/self-test" || fail "$(cat "$work/self-test")"
    step "digests of mathematics"
    "$emulator" "$sweep" --digests 2039 --table tests/math/digests >&2 ||
        fail "mathematics gives other results"
    local name ticks options file made code checked=0
    while read -r name ticks options; do
        file="recordings/$name.twin"
        made="$work/$preset-${name//\//-}.twin"
        step "verify $name"
        "${twinstep[@]}" verify "$file" || fail "verify $name ended with $?"
        step "record $ticks ticks of $name"
        # shellcheck disable=SC2086
        "${twinstep[@]}" record "${name%%/*}" -o "$made" --ticks "$ticks" $options >/dev/null ||
            fail "record $name ended with $?"
        first_ticks "$file" "$ticks" >"$work/expected"
        first_ticks "$made" "$ticks" >"$work/made"
        [[ "$(wc -l <"$work/expected")" == "$ticks" ]] || fail "$name has fewer than $ticks ticks"
        cmp "$work/expected" "$work/made" || fail "$name, recorded anew, is another session"
        checked=$((checked + 1))
    done < <(grep . <<<"$sessions")
    [[ $checked == 3 ]] || fail "$checked sessions were checked, not one of each game"

    step "what must fail"
    code=0
    "${twinstep[@]}" verify recordings/must-fail/marine-flipped-input.twin || code=$?
    [[ $code == 4 ]] || fail "the flipped input ended with $code, not 4"
    step "passed"
}

# Wine keeps its folders here instead of in the home of whoever runs this.
export WINEDEBUG="${WINEDEBUG:--all}" WINEPREFIX="${WINEPREFIX:-$PWD/build/wine}"
mkdir -p "$WINEPREFIX"
work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
[[ $# != 0 ]] || set -- aarch64-linux s390x-linux x86_64-windows
for preset in "$@"; do
    check_target
done
