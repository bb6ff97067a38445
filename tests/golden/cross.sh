#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Builds the twinstep command for other CPUs and proves there, emulated, that recordings replay.
#   cross.sh [PRESET...]   default: aarch64-linux s390x-linux
# For each target: the known answers; one recording of each game verified; the same sessions recorded
# anew, which must have the same inputs and hashes; and the recording that must fail, which must fail
# with the exit code of a divergence.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."

# Recording of the corpus, then the options of record that made it (see corpus.py).
sessions='
marine/bots-one   --from bot:1 --seed 11 --ticks 1400
swarm/bots-four   --from bot:5 --seed 5 --slots 4 --ticks 300
pile/bot-calm     --from bot:4 --seed 4 --ticks 600
'

fail() {
    echo "cross: $preset: $*" >&2
    exit 1
}

step() {
    echo "cross: $preset: $* (${SECONDS} s)"
}

# Every input, hash and section hash as text. Left out is what hangs on the session's random id: the
# first line and the checks.
body() { # RECORDING
    "${twinstep[@]}" cat "$1" --format ndjson | tail -n +2 |
        sed -E 's/,"(check|chain|digest|previous)":"[0-9a-f]*"//g'
}

check_target() {
    cmake --preset "$preset" >&2
    cmake --build --preset "$preset" --target twinstep_command >&2
    local emulator
    emulator="$(sed -n 's/^set(CMAKE_CROSSCOMPILING_EMULATOR \(.*\))$/\1/p' "cmake/toolchains/$preset.cmake")"
    twinstep=("$emulator" "build/$preset/tools/twinstep")
    [[ -x "${twinstep[1]}" ]] || twinstep[1]+=.exe
    [[ -x "${twinstep[1]}" ]] || fail "the build made no ${twinstep[1]}"

    step "self-test"
    "${twinstep[@]}" self-test >"$work/self-test" || fail "$(cat "$work/self-test")"
    local name options file made code checked=0
    while read -r name options; do
        file="recordings/$name.twin"
        made="$work/$preset-${name//\//-}.twin"
        step "verify $name"
        "${twinstep[@]}" verify "$file" || fail "verify $name ended with $?"
        step "record $name"
        # shellcheck disable=SC2086
        "${twinstep[@]}" record "${name%%/*}" -o "$made" $options >/dev/null ||
            fail "record $name ended with $?"
        body "$file" >"$work/expected"
        body "$made" >"$work/made"
        [[ -s "$work/expected" ]] || fail "$name has no text"
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

work="$(mktemp -d)"
trap 'rm -rf "$work"' EXIT
[[ $# != 0 ]] || set -- aarch64-linux s390x-linux
for preset in "$@"; do
    check_target
done
