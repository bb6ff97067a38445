#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# One match between three machines: this one, Windows under Wine, and big-endian s390x under qemu.
#   cross_match.sh [SERVER]   default: build/release/tools/twinstep, which also plays
# Everybody records. In the end all recordings, the server's too, have the same inputs and the same hash
# at every tick, and the machines verify each other's recordings.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."

native="${1:-build/release/tools/twinstep}"
game=marine
ticks=350
players='native windows s390x'

fail() {
    echo "cross_match: $*" >&2
    tail -n 5 "$work"/*.log >&2 || true
    exit 1
}

step() {
    echo "cross_match: $* (${SECONDS} s)"
}

emulator() { # PRESET
    sed -n 's/^set(CMAKE_CROSSCOMPILING_EMULATOR \(.*\))$/\1/p' "cmake/toolchains/$1.cmake"
}

build() { # PRESET
    # Where a target has no libsodium, connections are plain: all of this stays on loopback.
    cmake --preset "$1" -DTWINSTEP_NET_CRYPTO=OFF >&2
    cmake --build --preset "$1" --target twinstep_command >&2
}

# The inputs and hashes of the first ticks as text, without the checks, which hang on the session's id.
first_ticks() { # RECORDING
    "$native" cat "$1" --format ndjson | grep '"type":"tick"' | sed -n "1,${ticks}p" |
        sed -E 's/,"check":"[0-9a-f]*"//'
}

run_as() { # PLAYER ARGUMENTS...
    local player="$1"
    shift
    case "$player" in
    native) "$native" "$@" ;;
    windows) WINEDEBUG=-all "$(emulator x86_64-windows)" build/x86_64-windows/tools/twinstep.exe "$@" ;;
    s390x) "$(emulator s390x-linux)" build/s390x-linux/tools/twinstep "$@" ;;
    esac
}

work="$(mktemp -d)"
server=
trap '[[ -z "$server" ]] || kill "$server" 2>/dev/null || true; rm -rf "$work"' EXIT

step "build"
build s390x-linux
build x86_64-windows
[[ -x "$native" ]] || fail "no $native: run ./dev build"
# The first call of Wine sets up its folder, which takes longer than a handshake.
run_as windows --version >/dev/null || fail "Wine does not run the command"

step "a match of $players, $ticks ticks"
"$native" serve "$game" --slots 3 --seed 7 --listen 127.0.0.1:0 --insecure-loopback --exit-when-empty \
    --policy wait --hash-interval 1 --record-dir "$work" --ready-file "$work/ready" --json \
    >"$work/server.out" 2>"$work/server.log" &
server=$!
for _ in $(seq 100); do
    [[ ! -s "$work/ready" ]] || break
    sleep 0.1
done
address="$(sed -n 's/.*"listen":\["\([^"]*\)".*/\1/p' "$work/ready")"
[[ -n "$address" ]] || fail "the server did not start"

declare -A jobs
for player in $players; do
    run_as "$player" join "$address" "$game" --bot 5 --name "$player" --ticks "$ticks" \
        -o "$work/$player.twin" --json >"$work/$player.json" 2>"$work/$player.log" &
    jobs[$player]=$!
done
for player in $players; do
    code=0
    wait "${jobs[$player]}" || code=$?
    [[ $code == 0 ]] || fail "$player ended with $code"
    cat "$work/$player.json"
done
code=0
wait "$server" || code=$?
[[ $code == 0 ]] || fail "the server ended with $code"
server=

step "equal at every tick"
# The match that was played is the largest file: the server may have opened another one since.
recording="$(cd "$work" && find . -name '*Z-*.twin' -printf '%s %p\n' | sort -rn | sed -n '1s/^[0-9]* //p')"
[[ -n "$recording" ]] || fail "the server recorded nothing"
recording="$work/$recording"
first_ticks "$recording" >"$work/server.ticks"
[[ "$(wc -l <"$work/server.ticks")" == "$ticks" ]] || fail "the server recorded fewer than $ticks ticks"
grep -q '"hash"' "$work/server.ticks" || fail "the recording has no hashes"
for player in $players; do
    first_ticks "$work/$player.twin" >"$work/$player.ticks"
    cmp "$work/server.ticks" "$work/$player.ticks" || fail "$player saw another match"
done

step "each machine verifies the server's recording"
for player in $players; do
    run_as "$player" verify "$recording" || fail "$player: verify ended with $?"
done
step "passed: $ticks ticks, one server and 3 machines with equal inputs and hashes"
