#!/usr/bin/env bash
# SPDX-License-Identifier: MIT
# Matches between this machine, Windows under Wine and big-endian s390x under qemu; AArch64 verifies too.
#   cross_match.sh [SERVER]   default: build/release/tools/twinstep, which also plays
# What has to hold is written in cross_match.py. CROSS_MATCH_PLANT=TICK moves the planted faults.
set -euo pipefail
cd "$(dirname "$(readlink -f "$0")")/../.."

native="${1:-build/release/tools/twinstep}"
[[ -x "$native" ]] || {
    echo "cross_match: no $native: run ./dev build" >&2
    exit 1
}

# How this target's command is started, after it was built.
command_of() { # PRESET
    local program="build/$1/tools/twinstep"
    cmake --preset "$1" >&2
    cmake --build --preset "$1" --target twinstep_command >&2
    [[ -x "$program" ]] || program+=.exe
    sed -n "s|^set(CMAKE_CROSSCOMPILING_EMULATOR \(.*\))\$|\1 $program|p" "cmake/toolchains/$1.cmake"
}

# Wine keeps its folders here instead of in the home of whoever runs this.
export WINEDEBUG="${WINEDEBUG:--all}" WINEPREFIX="${WINEPREFIX:-$PWD/build/wine}"
mkdir -p "$WINEPREFIX"
windows="$(command_of x86_64-windows)"
s390x="$(command_of s390x-linux)"
aarch64="$(command_of aarch64-linux)"
python3 tests/golden/cross_match.py "$native" "windows=$windows" "s390x=$s390x" \
    --judge "aarch64=$aarch64" --plant "${CROSS_MATCH_PLANT:-100}"
