#!/usr/bin/env python3
# SPDX-License-Identifier: MIT
"""Runs the shell of each file in docs/ci/ with the variables that its platform sets.

Usage: ci_files_test.py TWINSTEP DOCS_CI
"""

import json
import os
import pathlib
import re
import subprocess
import sys
import unittest

DOCS = pathlib.Path(sys.argv.pop(2)).resolve()

from support import TWINSTEP, CommandTest  # noqa: E402: it takes its own argument

try:
    import yaml
except ImportError:
    yaml = None

SHARDS = 3


def block_scalars(text):
    """The bodies of all `KEY: |` and `- |`, without a YAML parser."""
    bodies = []
    lines = text.splitlines()
    for number, line in enumerate(lines):
        if not re.search(r"(:|-) \|$", line):
            continue
        body = []
        for inner in lines[number + 1 :]:
            if inner.strip() and not inner.startswith(" " * (len(line) - len(line.lstrip()) + 1)):
                break
            body.append(inner)
        indent = min(len(inner) - len(inner.lstrip()) for inner in body if inner.strip())
        bodies.append("\n".join(inner[indent:] for inner in body).rstrip() + "\n")
    return bodies


def parsed_bodies(name):
    """The same with a parser: what the platforms themselves would run."""
    documents = list(yaml.safe_load_all((DOCS / name).read_text()))
    if name.startswith("github"):
        jobs = documents[0]["jobs"]
        steps = [step for job in ("verify", "merge") for step in jobs[job]["steps"]]
        return [step["run"] for step in steps if "twinstep" in step.get("run", "")]
    return [
        document["spec"]["template"]["spec"]["containers"][0]["command"][2]
        for document in documents
    ]


class CiFilesTest(CommandTest):
    def setUp(self):
        super().setUp()
        tools = self.folder / "tools"
        tools.mkdir()
        (tools / "twinstep").symlink_to(pathlib.Path(TWINSTEP).resolve())
        self.path = f"{tools}:{os.environ['PATH']}"
        (self.folder / "recordings").mkdir()
        for number in range(5):
            self.record(f"recordings/{number}.twin", ticks=50 + number)

    def shell(self, body, code=0, **variables):
        done = subprocess.run(
            ["/bin/sh", "-euc", body],
            cwd=self.folder,
            env={**os.environ, "PATH": self.path, **{k: str(v) for k, v in variables.items()}},
            capture_output=True,
            check=False,
            timeout=120,
        )
        self.assertEqual(done.returncode, code, done.stdout.decode() + done.stderr.decode())
        return done.stdout.decode() + done.stderr.decode()

    def bodies(self, name):
        plain = block_scalars((DOCS / name).read_text())
        plain = [body for body in plain if "twinstep" in body]
        if yaml is not None:
            self.assertEqual(parsed_bodies(name), plain)
        self.assertEqual(len(plain), 2, f"{name}: a body for a shard and one for the merge")
        return plain

    def test_every_file_is_in_the_page(self):
        page = (DOCS / "README.md").read_text()
        for file in DOCS.iterdir():
            if file.name != "README.md":
                self.assertIn(f"]({file.name})", page)
                self.assertNotIn("\t", file.read_text())

    def test_github_actions(self):
        verify, merge = self.bodies("github-actions.yml")
        (self.folder / "reports").mkdir()
        for shard in range(1, SHARDS + 1):
            self.shell(verify, SHARD=shard, SHARDS=SHARDS)
            report = self.folder / f"shard-{shard}.xml"
            report.rename(self.folder / "reports" / report.name)
        self.shell(merge)
        self.assertIn('tests="5" failures="0"', (self.folder / "recordings.xml").read_text())
        (self.folder / "recordings.xml").unlink()
        (self.folder / "reports" / "shard-2.xml").unlink()
        self.assertIn("shard 2/3 is missing", self.shell(merge, code=6))
        self.assertFalse((self.folder / "recordings.xml").exists())
        if yaml is not None:
            workflow = yaml.safe_load((DOCS / "github-actions.yml").read_text())
            strategy = workflow["jobs"]["verify"]["strategy"]
            self.assertEqual(strategy["matrix"]["shard"], [1, 2, 3])
            self.assertIs(strategy["fail-fast"], False)
            self.assertEqual(workflow["jobs"]["merge"]["needs"], "verify")
            self.assertEqual(workflow["jobs"]["merge"]["if"], "always()")

    def test_kubernetes(self):
        verify, merge = self.bodies("kubernetes-indexed-job.yaml")
        settings = {"RUN": "7", "REPORTS": self.folder / "volume", "SHARDS": SHARDS}
        for index in range(SHARDS):
            if index == SHARDS - 1:
                self.assertIn("shard 3/3 is missing", self.shell(merge, code=6, **settings))
            self.shell(verify, JOB_COMPLETION_INDEX=index, **settings)
        self.shell(merge, **settings)
        joined = json.loads((self.folder / "volume" / "7" / "all.json").read_text())
        self.assertEqual((joined["files"], joined["exit"]), (5, 0))
        if yaml is not None:
            job = next(yaml.safe_load_all((DOCS / "kubernetes-indexed-job.yaml").read_text()))
            spec = job["spec"]
            self.assertEqual(spec["completionMode"], "Indexed")
            container = spec["template"]["spec"]["containers"][0]
            values = {one["name"]: one["value"] for one in container["env"]}
            self.assertEqual(values["SHARDS"], str(spec["completions"]))

    def test_slurm(self):
        array = (DOCS / "slurm-array.sbatch").read_text()
        merge = (DOCS / "slurm-merge.sbatch").read_text()
        self.assertIn("#SBATCH --array=1-3\n", array)
        for task in range(1, SHARDS + 1):
            self.shell(
                array,
                SLURM_ARRAY_JOB_ID=41,
                SLURM_ARRAY_TASK_ID=task,
                SLURM_ARRAY_TASK_COUNT=SHARDS,
                SLURM_CPUS_PER_TASK=2,
            )
        self.shell(merge, ARRAY_JOB=41)
        joined = self.folder / "reports-41" / "all.json"
        self.assertEqual(json.loads(joined.read_text())["files"], 5)
        joined.unlink()
        (self.folder / "reports-41" / "shard-1.json").unlink()
        self.assertIn("shard 1/3 is missing", self.shell(merge, code=6, ARRAY_JOB=41))
        self.assertFalse(joined.exists())

    def test_a_shard_that_diverges_makes_the_whole_diverge(self):
        _, merge = self.bodies("kubernetes-indexed-job.yaml")
        verify, _ = self.bodies("kubernetes-indexed-job.yaml")
        recordings = self.folder / "recordings"
        self.flip_input(recordings / "1.twin", 20, "recordings/bad.twin")
        settings = {"RUN": "8", "REPORTS": self.folder / "volume", "SHARDS": SHARDS}
        codes = []
        for index in range(SHARDS):
            code = 4 if index == 5 % SHARDS else 0  # bad.twin comes after 0.twin to 4.twin
            self.shell(verify, code=code, JOB_COMPLETION_INDEX=index, **settings)
            codes.append(code)
        self.assertIn(4, codes)
        self.shell(merge, code=4, **settings)


if __name__ == "__main__":
    unittest.main()
