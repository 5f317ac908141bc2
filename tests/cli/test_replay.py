import json
import signal
import subprocess
import unittest

from program import PROGRAM, SMALL_TRACE, ProgramTest


def flip_byte(path, offset):
    with open(path, "r+b") as file:
        file.seek(offset)
        byte = file.read(1)[0]
        file.seek(offset)
        file.write(bytes([byte ^ 1]))


class ReplayTest(ProgramTest):
    def test_shows_policies_side_by_side_on_the_same_reads(self):
        log = self.root / "steps.jsonl"
        summary, tables = self.run_json(
            "replay", *self.tiers(), *SMALL_TRACE, "--policy", "kvstream", "--policy", "static:1:1",
            "--policy", "chunks:2", "--policy", "single:slow", "--step-log", str(log))
        policies = {policy["policy"]: policy for policy in summary["policies"]}
        self.assertEqual(set(policies), {"kvstream", "static:1:1", "chunks:2", "single:slow"})
        demand = summary["run"]["demand_bytes"]
        self.assertGreater(demand, 0)
        for name, policy in policies.items():
            self.assertEqual(policy["bytes"], demand, name)
            self.assertEqual(policy["missed_chunks"], 0, name)
            read = sum(tier["bytes"] for tier in policy["tiers"])
            self.assertEqual(read, demand + policy["bytes_read_twice"], name)
            self.assertIn(name, tables)
        self.assertEqual(policies["single:slow"]["tiers"][0]["bytes"], 0)
        self.assertEqual(summary["run"]["requests"], 12)

        records = [json.loads(line) for line in log.read_text().splitlines()]
        for name in policies:
            mine = [record for record in records if record["policy"] == name]
            self.assertEqual(sum(record["demand_bytes"] for record in mine), demand)
            for record in mine:
                self.assertEqual(sum(chunk["bytes"] for chunk in record["chunks"]),
                                 record["demand_bytes"])
        self.assertEqual(self.chunk_files(self.tier_a), [], "chunks were left without --keep")

    def test_counts_every_chunk_of_every_prompt_once(self):
        summary, _ = self.run_json("replay", *self.tiers(), *SMALL_TRACE)
        run = summary["run"]
        self.assertEqual(run["writes"]["staged_chunks"] + run["writes"]["present_chunks"]
                         + run["writes"]["dropped_chunks"], run["new_bytes"] // (64 * 1024))
        self.assertGreater(run["host_hit_chunks"] + run["storage_hit_chunks"], 0)
        self.assertGreater(run["missed_chunks"], 0)

    def test_a_second_run_finds_what_the_first_kept(self):
        first = self.run_program("replay", *self.tiers(), *SMALL_TRACE, "--keep", "--reopen")
        self.assertEqual(first.returncode, 0, first.stderr)
        kept = len(self.chunk_files(self.tier_a))
        self.assertGreater(kept, 0)
        self.assertIn(f"after closing and opening again: {kept} of {kept}", first.stdout)
        summary, tables = self.run_json("replay", *self.tiers(), *SMALL_TRACE)
        self.assertIn(f"{kept} of {kept} chunks are on the tiers from before", tables)
        self.assertEqual(summary["run"]["missed_chunks"], 0)
        self.assertEqual(summary["run"]["new_bytes"], 0)

    def test_one_wrong_byte_ends_the_run(self):
        kept = self.run_program("replay", *self.tiers(), *SMALL_TRACE, "--keep")
        self.assertEqual(kept.returncode, 0, kept.stderr)
        for tier in (self.tier_a, self.tier_b):
            for path in self.chunk_files(tier):
                flip_byte(path, 4711)
        # With checksums the copies are found out, and nothing wrong is delivered.
        found = self.run_program("replay", *self.tiers(), *SMALL_TRACE, "--keep")
        self.assertEqual(found.returncode, 0, found.stderr)
        for tier in (self.tier_a, self.tier_b):
            for path in self.chunk_files(tier):
                flip_byte(path, 4711)
        wrong = self.run_program("replay", *self.tiers(), *SMALL_TRACE, "--verify", "off")
        self.assertEqual(wrong.returncode, 1, wrong.stdout)
        self.assertRegex(wrong.stderr, r"wrong byte: chunk [0-9a-f]{64} at offset 4711, "
                                       r"delivered by (fast|slow|fast\+slow)")

    def test_an_interrupt_prints_what_was_measured(self):
        arguments = [PROGRAM, "replay", *self.tiers(), *SMALL_TRACE, "--forward", "constant=1h"]
        arguments.remove("constant=1ms")
        arguments.remove("--forward")
        with subprocess.Popen(arguments, stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as process:
            for line in process.stdout:
                if "from before" in line:
                    break
            process.send_signal(signal.SIGINT)
            out, err = process.communicate(timeout=120)
        self.assertEqual(process.returncode, 130, err)
        self.assertIn("retrieval time", out)
        self.assertIn("interrupted", err)


if __name__ == "__main__":
    unittest.main()
