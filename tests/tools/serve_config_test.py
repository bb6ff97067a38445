#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""The server's settings: layers, errors that name key, value and range, documentation.

Usage: serve_config_test.py TWINSTEP [unittest options]
"""

import os
import pathlib
import re
import subprocess
import unittest

from support import TWINSTEP, CommandTest, run

DOCUMENT = pathlib.Path(__file__).resolve().parents[2] / "docs" / "serve.md"
KEY = "00112233445566778899aabbccddeeff" * 2


def printed(*arguments, environment=None):
    """What --print-config says: key -> (value, origin)."""
    done = subprocess.run(
        [TWINSTEP, "serve", "--print-config", *map(str, arguments)],
        capture_output=True,
        check=True,
        env={**os.environ, **(environment or {})},
    )
    settings = {}
    for line in done.stdout.decode().splitlines():
        key, value, origin = re.fullmatch(r"#? ?([a-z-]+) = (.*?)  # (.*)", line).groups()
        settings[key] = (value, origin)
    return settings


class ErrorsTest(CommandTest):
    def bad(self, *arguments, mentions):
        return self.refused("serve", *arguments, "--check-config", code=2, mentions=mentions)

    def test_each_error_is_one_line_with_key_value_and_range(self):
        for arguments, mentions in (
            (["--grace-ms", "1001"], ["--grace-ms", "1001", "0 to 1000"]),
            (["--grace-ms", "-1"], ["grace-ms", "-1"]),
            (["--grace-ms", ""], ["grace-ms"]),
            (["--policy", "lenient"], ["policy", "lenient", "deadline|wait|strict"]),
            (["--policy", "deadline|wait"], ["policy"]),
            (["--slots", "65"], ["slots", "65", "1 to 64"]),
            (["--players", "3"], ["players", "3", "2 slots"]),
            (
                ["--slots", "8", "--input-bytes-max", "200"],
                ["input-bytes-max", "200", "at most 123"],
            ),
            (["--delay-min", "9", "--delay-max", "3"], ["delay-min", "9", "3"]),
            (["--spectator-delay", "20s", "--ring", "10s"], ["spectator-delay", "20s", "10s"]),
            (["--drain-timeout", "2d"], ["drain-timeout", "2d", "0s to 3600s"]),
            (["--record-quota", "1T"], ["record-quota", "1T"]),
            (["--record-quota", "99999999999999999999"], ["record-quota"]),
            (["--tick-rate", "0"], ["tick-rate", "0"]),
            (["--tick-rate", "60/0"], ["tick-rate", "60/0"]),
            (["--tick-rate", "2000"], ["tick-rate", "1 to 1000"]),
            (["marine", "--tick-rate", "60"], ["tick-rate", "its own"]),
            (["--hash-interval", "0"], ["hash-interval", "1 to 64"]),
            (["--max-peers", "65001"], ["max-peers", "65000"]),
            (["--listen", "0.0.0.0:7777"], ["listen", "0.0.0.0:7777", "key"]),
            (["--listen", "localhost:7777"], ["listen", "localhost", "not a name"]),
            (["--listen", "127.0.0.1:70000"], ["listen", "70000"]),
            (["--admin-listen", "0.0.0.0:9600"], ["admin-listen", "admin-token-file"]),
            (["--authority", "sim"], ["authority", "game"]),
            (["--record-dir", "."], ["record-dir", "game"]),
            (["marine", "--resume"], ["resume", "record-dir"]),
            (["marine", "--record-dir", "/none"], ["record-dir", "/none"]),
            (["marine", "--slots", "9"], ["slots", "9", "marine"]),
            (["chess"], ["game", "chess", "marine"]),
            (["--room-key-file", "/none"], ["room-key-file", "/none"]),
            (["--policy", "wait", "--policy", "strict"], ["policy", "one value"]),
            (
                ["--room-key-file", "a", "--token-key-file", "b"],
                ["token-key-file", "room-key-file", "choose one"],
            ),
            (["--room-key-file", "a", "--insecure-loopback"], ["insecure-loopback", "choose one"]),
        ):
            with self.subTest(arguments=arguments):
                self.bad(*arguments, mentions=mentions)

    def test_files_are_read_line_by_line(self):
        config = self.folder / "server.conf"
        for text, mentions in (
            ("grace-ms = 2000\n", ["line 1", "grace-ms", "2000", "0 to 1000"]),
            ("# ok\n\ngrace_ms = 20\n", ["line 3", "grace_ms", "did you mean grace-ms"]),
            ("polcy = wait\n", ["polcy", "did you mean policy"]),
            ("nothing-like-it = 1\n", ["nothing-like-it", "no such setting"]),
            ("policy wait\n", ["line 1", "key = value"]),
            ("policy = \n", ["line 1"]),
            ('policy = "wait\n', ["line 1"]),
            ("policy = [wait, strict]\n", ["policy", "one value"]),
            ("[server]\n", ["line 1"]),
            ("policy = wait\npolicy = strict\n", ["line 2", "policy", "twice"]),
        ):
            with self.subTest(text=text):
                config.write_text(text)
                self.bad("--config", config, mentions=[config, *mentions])
        self.refused("serve", "--config", "/none", "--check-config", code=1, mentions=["/none"])

    def test_the_environment_is_checked_too(self):
        for name, value, mentions in (
            ("TWINSTEP_SERVE_GRACE_MS", "x", ["TWINSTEP_SERVE_GRACE_MS", "x", "0 to 1000"]),
            ("TWINSTEP_SERVE_GRACEMS", "5", ["TWINSTEP_SERVE_GRACEMS", "grace-ms"]),
        ):
            done = subprocess.run(
                [TWINSTEP, "serve", "--check-config"],
                capture_output=True,
                check=False,
                env={**os.environ, name: value},
            )
            self.assertEqual(done.returncode, 2)
            line = done.stderr.decode()
            self.assertEqual(len(line.splitlines()), 1)
            for mention in mentions:
                self.assertIn(mention, line)

    def test_a_bad_key_is_refused_and_never_shown(self):
        key = self.folder / "room.key"
        key.write_text("c0ffee" * 3)
        line = self.bad("--room-key-file", key, mentions=["room-key-file", "64 hexadecimal"])
        self.assertNotIn("c0ffee", line)
        token = self.folder / "token"
        token.write_text("short\n")
        self.bad(
            "--admin-listen",
            "0.0.0.0:0",
            "--admin-token-file",
            token,
            mentions=["admin-token-file", "at least 16"],
        )


class LayersTest(CommandTest):
    def test_flags_beat_the_environment_which_beats_the_file(self):
        config = self.folder / "server.toml"
        config.write_text(
            'policy = "wait"   # comment\ngrace-ms = 10\nhash-interval = 8\n'
            'listen = ["127.0.0.1:0", "[::1]:0"]\nequal-delay = true\n'
        )
        settings = printed(
            "--config",
            config,
            "--policy",
            "strict",
            environment={"TWINSTEP_SERVE_GRACE_MS": "20", "TWINSTEP_SERVE_POLICY": "deadline"},
        )
        self.assertEqual(settings["policy"], ('"strict"', "--policy"))
        self.assertEqual(settings["grace-ms"], ('"20"', "TWINSTEP_SERVE_GRACE_MS"))
        self.assertEqual(settings["hash-interval"], ('"8"', f"{config}, line 3"))
        self.assertEqual(settings["listen"][0], '["127.0.0.1:0", "[::1]:0"]')
        self.assertEqual(settings["equal-delay"][0], '"true"')
        self.assertEqual(settings["filler"], ('"repeat-last"', "default"))

    def test_what_is_printed_can_be_read_again(self):
        first = run("serve", "marine", "--grace-ms", "7", "--print-config").stdout
        config = self.folder / "again.conf"
        config.write_text(first)
        values = {key: value for key, (value, _) in printed("--config", config).items()}
        self.assertEqual(values["grace-ms"], '"7"')
        self.assertEqual(values["game"], '"marine"')
        self.assertEqual(
            values, {key: value for key, (value, _) in printed("--config", config).items()}
        )

    def test_secrets_are_named_but_not_shown(self):
        key = self.folder / "room.key"
        key.write_text(KEY + "\n")
        done = run("serve", "--room-key-file", key, "--print-config")
        if done.returncode == 2:
            self.skipTest("this build has no libsodium")
        self.assertIn(str(key), done.stdout)
        self.assertNotIn(KEY[:16], done.stdout + done.stderr)
        self.assertIn("0.0.0.0:7777", done.stdout)

    def test_without_a_key_only_loopback_is_served(self):
        self.assertEqual(printed()["listen"][0], '["127.0.0.1:7777", "[::1]:7777"]')

    def test_a_good_configuration_is_said_to_be_good(self):
        self.assertEqual(self.json("serve", "marine", "--check-config"), {"good": True})


class DocumentTest(unittest.TestCase):
    def test_the_table_in_the_document_is_the_table_of_the_program(self):
        rows = dict(re.findall(r"^\| `([a-z-]+)` \| (.*?) \|", DOCUMENT.read_text(), re.M))
        settings = printed()
        self.assertEqual(sorted(rows), sorted(settings))
        for key, default in rows.items():
            value, origin = settings[key]
            if origin == "default" and default.startswith("`"):
                self.assertEqual(default.strip("`"), value.strip('"'), key)


if __name__ == "__main__":
    unittest.main()
