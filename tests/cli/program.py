"""What the tests of the program share: two empty tiers and a way to run it."""

import json
import os
import subprocess
import tempfile
import unittest
from pathlib import Path

PROGRAM = os.environ["KVSTREAM_PROGRAM"]
SMALL_TRACE = ["--trace", "builtin:agent,sessions=3,turns=4", "--chunk-bytes", "64KiB",
               "--forward", "constant=1ms", "--host-cache", "256KiB"]


class ProgramTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory(prefix="kvs_cli_")
        self.addCleanup(folder.cleanup)
        self.root = Path(folder.name)
        self.tier_a = self.root / "a"
        self.tier_b = self.root / "b"
        self.tier_a.mkdir()
        self.tier_b.mkdir()

    def tiers(self, capacity="256MiB"):
        return ["--tier", f"fast={self.tier_a},capacity={capacity}",
                "--tier", f"slow={self.tier_b},capacity={capacity}"]

    def run_program(self, *arguments):
        return subprocess.run([PROGRAM, *arguments], capture_output=True, text=True, timeout=300)

    def run_json(self, *arguments):
        """Runs with --json -, expects success, returns the summary and the tables."""
        result = self.run_program(*arguments, "--json", "-")
        self.assertEqual(result.returncode, 0, result.stderr)
        return json.loads(result.stdout), result.stderr

    def chunk_files(self, tier):
        return sorted(tier.rglob("*.kv"))
