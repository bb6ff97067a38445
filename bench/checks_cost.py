#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""What each check of verify costs: processor time as a multiple of verify's without checks.

Usage: checks_cost.py TWINSTEP

All options are measured in turn, in three rounds; the least time of each counts.
"""

import os
import pathlib
import subprocess
import sys
import tempfile

GAMES = (("marine", 8000), ("pile", 300), ("swarm", 400))
CHECKS = (
    "",
    "--twice",
    "--fresh",
    "--fork-every 100",
    "--roundtrip-every 100",
    "--rollback-every 10",
    "--workers-each 2",
    "--poison",
    "--shuffle",
    "--perturb",
    "--checks all",
)
ROUNDS = 3


def seconds(command):
    before = os.times()
    subprocess.run(command, check=True, capture_output=True)
    after = os.times()
    return (
        after.children_user
        + after.children_system
        - before.children_user
        - before.children_system
    )


def main():
    twinstep = sys.argv[1]
    print(f"{'':24}" + "".join(f"{game:>9}" for game, _ in GAMES))
    columns = []
    with tempfile.TemporaryDirectory() as folder:
        for game, ticks in GAMES:
            path = str(pathlib.Path(folder) / f"{game}.twin")
            seconds([twinstep, "record", game, "-o", path, "--ticks", str(ticks)])
            times = {check: [] for check in CHECKS}
            for _ in range(ROUNDS):
                for check in CHECKS:
                    times[check].append(seconds([twinstep, "verify", path, *check.split()]))
            columns.append({check: min(of_check) for check, of_check in times.items()})
    for check in CHECKS:
        factors = (column[check] / column[""] for column in columns)
        print(f"{check or 'verify':24}" + "".join(f"{factor:8.2f}x" for factor in factors))


if __name__ == "__main__":
    main()
