#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Records eight sessions that people played, replays each at six cadences, verifies every tick, and shows
# that one flipped input bit is found. Usage: demo.sh PATH_OF_TWINSTEP
set -euo pipefail

twinstep=${1:?usage: demo.sh PATH_OF_TWINSTEP}
wads=${TWINSTEP_WADS:-/usr/share/games/doom}
work=$(mktemp -d)
trap 'rm -rf "$work"' EXIT

field() { python3 -c 'import json, sys; print(json.load(sys.stdin)[sys.argv[1]])' "$1"; }

die() {
    echo "demo: $*" >&2
    exit 1
}

cadences=(30 60 144 240 jitter:7 unlimited)
recordings=0
proved=0

printf '%-18s %6s %8s %7s  %-16s  %s\n' recording ticks bytes frames 'final hash' 'replays at 30 60 144 240 jittered unthrottled'
for wad in freedoom1 freedoom2; do
    for lump in DEMO1 DEMO2 DEMO3 DEMO4; do
        name=$wad-$lump
        file=$work/$name.twin
        # Frames come at an irregular rate, with stalls of up to two seconds.
        made=$("$twinstep" record marine -o "$file" --from "wad:$wads/$wad.wad:$lump" \
            --frames "jitter:$recordings" --json) || die "$name cannot be recorded"
        ticks=$(field ticks <<<"$made")
        hash=$(field final_hash <<<"$made")
        marks=
        for cadence in "${cadences[@]}"; do
            played=$("$twinstep" play "$file" --frames "$cadence" --json) || die "$name diverges at $cadence"
            [ "$(field final_hash <<<"$played")" = "$hash" ] || die "$name ends in another state at $cadence"
            [ "$(field ticks <<<"$played")" = "$ticks" ] || die "$name has another length at $cadence"
            marks+=' =='
            proved=$((proved + 1))
        done
        recordings=$((recordings + 1))
        printf '%-18s %6s %8s %7s  %-16s %s\n' "$name" "$ticks" "$(field bytes <<<"$made")" \
            "$(field frames <<<"$made")" "${hash:0:16}" "$marks"
    done
done

echo
echo "verify: every recorded hash of every tick"
"$twinstep" verify "$work" --jobs 2 || die "the recordings do not verify"

echo
echo "one input bit flipped in a copy of freedoom1-DEMO2, at tick 200"
good=$work/freedoom1-DEMO2.twin
bad=$work/flipped/flipped.twin
mkdir "$work/flipped"
"$twinstep" cat "$good" --editable | python3 -c '
import json, sys
for line in sys.stdin:
    record = json.loads(line)
    if record.get("tick") == "200":
        slot = record["slots"][0]
        record["slots"][0] = "%02x" % (int(slot[:2], 16) ^ 1) + slot[2:]
        line = json.dumps(record) + "\n"
    sys.stdout.write(line)' >"$work/flipped.ndjson"
"$twinstep" import "$work/flipped.ndjson" -o "$bad" >/dev/null
status=0
"$twinstep" verify "$bad" || status=$?
[ "$status" = 4 ] || die "verify ended with $status, not 4: the flipped bit was not found"
status=0
"$twinstep" diff "$good" "$bad" || status=$?
[ "$status" = 4 ] || die "diff ended with $status, not 4: the flipped bit was not found"

[ "$recordings" = 8 ] && [ "$proved" = 48 ] || die "$recordings recordings, $proved replays: not all were run"
echo
echo "identical: $recordings recordings x ${#cadences[@]} cadences"
