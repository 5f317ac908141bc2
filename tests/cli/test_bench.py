import shutil
import unittest

from program import ProgramTest

SMALL_STEP = ["--chunks", "10", "--chunk-bytes", "1MiB", "--steps", "3"]


class BenchTest(ProgramTest):
    def test_reads_the_step_under_each_policy_against_raw_readers(self):
        summary, _ = self.run_json("bench", *self.tiers(), *SMALL_STEP, "--policy", "kvstream",
                                   "--policy", "roundrobin", "--idle", "1ms")
        for policy in summary["policies"]:
            self.assertEqual(policy["steps"], 3)
            self.assertEqual(policy["bytes"], 3 * 10 * 2**20)
            self.assertEqual(policy["missed_chunks"], 0)
            self.assertEqual(len(policy["ceiling"]["step_gaps"]), 3)
        self.assertEqual(self.chunk_files(self.tier_a), [], "chunks were left without --keep")

    def test_takes_copies_away_and_still_reads_all(self):
        summary, tables = self.run_json("bench", *self.tiers(), *SMALL_STEP, "--evict", "40%:slow",
                                        "--policy", "single:slow", "--ceiling", "loop")
        self.assertIn("took 4 of 10 copies from tier slow", tables)
        policy = summary["policies"][0]
        self.assertEqual(policy["missed_chunks"], 0)
        self.assertEqual(policy["tiers"][0]["bytes"], 3 * 4 * 2**20)
        self.assertEqual(policy["tiers"][1]["bytes"], 3 * 6 * 2**20)

    def test_a_tier_too_small_for_the_step_is_an_error(self):
        result = self.run_program("bench", "--tier", f"a={self.tier_a},capacity=5MiB",
                                  *SMALL_STEP)
        self.assertEqual(result.returncode, 1, result.stderr)
        self.assertIn("capacity", result.stderr)

    def test_measures_puts_into_a_free_and_a_full_stage(self):
        summary, _ = self.run_json(
            "bench", "--tier", f"a={self.tier_a},capacity=256MiB,write-limit=4MiB/s",
            "--mode", "put", "--put-bytes", "1MiB", "--stage", "8MiB", "--steps", "3")
        put = summary["put"]
        self.assertEqual(len(put["free_s"]), 3)
        self.assertEqual(len(put["full_s"]), 3)
        self.assertGreater(sum(summary["engine"]["dropped_chunks"].values()), 0)

    def test_reads_under_a_flood_of_writes(self):
        summary, _ = self.run_json("bench", *self.tiers(), *SMALL_STEP, "--mode", "flood",
                                   "--stage", "32MiB")
        self.assertEqual(len(summary["pairs"]["ours_bytes_per_second"]), 3)
        self.assertEqual(summary["missed_chunks"], 0)
        self.assertGreater(summary["engine"]["accepted_chunks"], 10)

    @unittest.skipUnless(shutil.which("fio"), "fio is not installed")
    def test_compares_one_tier_with_fio(self):
        tier = ["--tier", f"a={self.tier_a},capacity=256MiB"]
        summary, _ = self.run_json("bench", *tier, *SMALL_STEP, "--mode", "single")
        self.assertEqual(len(summary["pairs"]["theirs_bytes_per_second"]), 3)
        self.assertGreater(summary["pairs"]["ratio_median"], 0)
        limited = self.run_program("bench", "--tier",
                                   f"a={self.tier_a},capacity=256MiB,limit=9MiB/s", *SMALL_STEP,
                                   "--ceiling", "fio")
        self.assertEqual(limited.returncode, 2)
        self.assertIn("fio does not see limit=", limited.stderr)


if __name__ == "__main__":
    unittest.main()
