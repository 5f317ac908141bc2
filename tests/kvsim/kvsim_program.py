"""What the tests of kvsim share: a small scenario and a way to run the program."""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

PROGRAM = os.environ["KVSIM_PROGRAM"]
ROOT = Path(__file__).resolve().parents[2]
# Memory is small, so that most of what is reused comes from storage.
SMALL = ["--trace", "builtin:agent,sessions=12,turns=8,seed=3", "--model", "32B", "--gpu-cache",
         "4GiB", "--host-cache", "1GiB"]
TIERS = ["--tier", "nvme=7GB/s,write=4GB/s", "--tier", "pfs=6GB/s"]


class KvsimTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="kvsim_")
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)

    def run_kvsim(self, *arguments):
        return subprocess.run([PROGRAM, *map(str, arguments)], capture_output=True, text=True,
                              timeout=120, cwd=self.root)

    def run_ok(self, *arguments):
        result = self.run_kvsim(*arguments)
        self.assertEqual(result.returncode, 0, result.stderr)
        return result.stdout

    def run_json(self, *arguments):
        """Runs with --json -, expects success, returns the figures and the table."""
        result = self.run_kvsim(*arguments, "--json", "-")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout), result.stderr
