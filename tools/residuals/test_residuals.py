import json
import os
import subprocess
import sys
import unittest
from pathlib import Path

TOOLS = Path(__file__).resolve().parent.parent
sys.path.insert(0, str(TOOLS))

from residuals import rules, scenarios, table  # noqa: E402

PAPER = Path(os.environ.get("KVSTREAM_PAPER", TOOLS.parent.parent / "shared" / "paper"))


def entry(ref, setting, metric, value, unit="s"):
    return {"ref": ref, "setting": setting, "metric": metric, "value": value, "unit": unit}


class FakeKvsim:
    """A device file and a reuse of one half; nothing runs."""

    def device(self, name):
        return {"gpu_link": "55GB/s",
                "tier": [{"name": "nvme", "read": "10GB/s", "write": "5GB/s", "interference": 0.5},
                         {"name": "pfs", "read": "4GB/s", "write": "4GB/s"}]}

    def static_penalty(self, shares, bandwidths):
        self.asked = shares, bandwidths
        return 1.125


class TableTest(unittest.TestCase):
    def rows(self, *entries):
        return table.make(FakeKvsim(), entries).splitlines()

    def test_a_row_has_the_papers_value_ours_and_the_ratio(self):
        first, *_, row = self.rows(entry("Fig 7", "Testbed-1 NVMe read 1 TB", "mean_per_rank_time",
                                         75))
        self.assertEqual(row, "| 1 | Fig 7 | Testbed-1 NVMe read 1 TB: mean_per_rank_time | s | 75 "
                              "| 102 | 1.37 | 1,024 GB over the device file's bandwidth |")
        self.assertIn("1 predicted, 0 fitted, 0 given to kvsim, 0 not predicted", first)
        self.assertIn("Of the 1 numbers in the predicted ones 0 are within 10 %", first)

    def test_mixed_traffic_takes_longer_by_the_interference(self):
        row = self.rows(entry("Fig 7", "Testbed-1 NVMe read 0.5 TB and write 0.5 TB at once",
                              "mean_per_rank_time", 230.4))[-1]
        self.assertIn("| 230 | 230 | 1.00 |", row)

    def test_inputs_and_facts_are_named_as_such_and_not_counted(self):
        lines = self.rows(entry("Table 2", "Testbed-1", "pfs", "VAST", ""),
                          entry("Table 2", "Testbed-1", "nvme_read_bw", 13.7, "GB/s"))
        self.assertIn("0 predicted, 0 fitted, 1 given to kvsim, 1 not predicted", lines[0])
        self.assertIn("Of the 0 numbers", lines[0])
        self.assertIn("| VAST | – | – | not predicted: a fact", lines[-2])
        self.assertIn("| 13.7 | 10 | 0.73 | input: device file |", lines[-1])

    def test_the_groups_of_a_setting_become_the_question(self):
        kvsim = FakeKvsim()
        found = rules.outcome(kvsim, entry("Sec 5.2", "75:25 split, NVMe 3, PFS 0.5",
                                           "static_time_over_bound", 1.75))
        self.assertEqual(found.value, 1.125)
        self.assertEqual(kvsim.asked, (("75", "25"), ("3", "0.5")))

    def test_a_value_without_a_rule_is_an_error(self):
        with self.assertRaisesRegex(LookupError, "0 rules for Fig 99"):
            self.rows(entry("Fig 99", "", "", 1))

    def test_every_value_of_the_paper_has_one_rule(self):
        if not (PAPER / "numbers.json").is_file():
            self.skipTest(f"no numbers.json in {PAPER}; KVSTREAM_PAPER names its folder")
        for each in json.loads((PAPER / "numbers.json").read_text())["numbers"]:
            found = [r for r in rules.RULES if r.groups(each) is not None]
            self.assertEqual(len(found), 1, each)

    def test_shapes_that_differ_have_no_ratio(self):
        self.assertEqual(table.ratio([1, 2], [1, 2, 3]), "–")
        self.assertEqual(table.ratio({"a": 3}, {"b": 5, "a": 2}), "1.50")
        self.assertEqual(table.ratio([[1, 2], [3, 4]], [[1, 1], [1, 0]]), "1.00 / 2.00 / 3.00 / –")
        self.assertEqual(table.ratio(None, 5), "–")

    def test_a_page_takes_the_table_and_gives_it_back(self):
        page = f"# A\n\n{table.BEGIN}\n\nold\n\n{table.END}\nrest\n"
        new = table.replaced(page, "| new |")
        self.assertEqual(table.current(new), "| new |")
        self.assertTrue(new.startswith("# A\n") and new.endswith("\nrest\n"))


class KvsimTest(unittest.TestCase):
    def test_a_failing_program_says_why(self):
        with self.assertRaisesRegex(scenarios.Failed, "exit 1"):
            scenarios.Kvsim("/bin/false").device("testbed1")

    def test_a_question_is_asked_once(self):
        asked = []
        kvsim = scenarios.Kvsim("/bin/false")
        kvsim._once("key", lambda: asked.append("ran"))
        kvsim._once("key", lambda: asked.append("ran"))
        self.assertEqual(asked, ["ran"])


class ProgramTest(unittest.TestCase):
    def run_tool(self, *arguments, paper):
        return subprocess.run([sys.executable, "-B", TOOLS / "model_residuals.py", *arguments],
                              capture_output=True, text=True,
                              env={**os.environ, "KVSTREAM_PAPER": str(paper)})

    def test_without_the_papers_values_it_refuses(self):
        done = self.run_tool("--program", "/bin/true", paper="/nonexistent")
        self.assertEqual(done.returncode, 2)
        self.assertIn("KVSTREAM_PAPER names the folder", done.stderr)

    def test_a_part_is_never_written(self):
        done = self.run_tool("--program", "/bin/true", "--only", "Fig 1", "--write",
                             paper="/nonexistent")
        self.assertEqual(done.returncode, 2)
        self.assertIn("printed only", done.stderr)


if __name__ == "__main__":
    unittest.main()
