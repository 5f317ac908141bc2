import json
import subprocess
import sys
import tomllib
import unittest

from kvsim_program import ROOT, SMALL, TIERS, KvsimTest

REPORT = ROOT / "tools" / "plot" / "kvsim_report.py"


class RunTest(KvsimTest):
    def test_the_verdict_compares_one_tier_with_two(self):
        figures, table = self.run_json("run", *SMALL, *TIERS)
        self.assertEqual([p["policy"] for p in figures["policies"]],
                         ["none", "serial", "single", "kvstream"])
        none, _, single, kvstream = figures["policies"]
        self.assertEqual(none["demand_bytes"], 0)
        self.assertGreater(single["demand_bytes"], 0)
        self.assertLess(kvstream["retrieval_s"], single["retrieval_s"])
        self.assertGreaterEqual(kvstream["gap"], 0)
        self.assertEqual(figures["verdict"]["alone"], "single")
        self.assertAlmostEqual(figures["verdict"]["retrieval_saving"],
                               1 - kvstream["retrieval_s"] / single["retrieval_s"])
        words = " ".join(table.split())
        self.assertIn(figures["verdict"]["text"], words)
        self.assertIn("a second tier", words)
        self.assertIn("no write bandwidth given", words)

    def test_conservation(self):
        figures, _ = self.run_json("run", *SMALL, *TIERS, "--arrivals", "closed")
        for policy in figures["policies"]:
            tokens = policy["tokens"]
            self.assertEqual(sum(tokens.values()), figures["trace"]["input_tokens"])
            read = sum(tier["read_bytes"] for tier in policy["tiers"])
            staged = policy["demand_bytes"] - (read - policy["read_twice_bytes"])
            self.assertGreaterEqual(staged, 0, policy["policy"])

    def test_the_same_seed_gives_the_same_figures(self):
        tiers = ["--tier", "nvme=7GB/s,latency.median=100us,latency.sigma=0.5", "--tier",
                 "pfs=6GB/s,load.shape=lognormal,load.sigma=0.3"]
        arguments = ["run", *SMALL, *tiers, "--arrivals", "gamma", "--cv", "3", "--rate", "2"]
        first, _ = self.run_json(*arguments, "--seed", "7")
        again, _ = self.run_json(*arguments, "--seed", "7")
        other, _ = self.run_json(*arguments, "--seed", "8")
        self.assertEqual(first, again)
        self.assertNotEqual(first["policies"][3]["hash"], other["policies"][3]["hash"])

    def test_write_policies_stand_side_by_side(self):
        policies = ["kvstream+full", "kvstream+fraction:0.4", "kvstream+once"]
        flags = [part for name in policies for part in ("--policy", name)]
        figures, _ = self.run_json("run", "--trace", "builtin:docs", *SMALL[2:], *TIERS, *flags)
        full, fraction, once = (p["write_amplification"] for p in figures["policies"])
        self.assertAlmostEqual(full, 2)
        self.assertAlmostEqual(once, 1)
        self.assertTrue(1.3 < fraction < 1.6, fraction)

    def test_a_run_can_be_replayed_from_its_step_log(self):
        figures, _ = self.run_json("run", *SMALL, *TIERS, "--policy", "single:pfs", "--policy",
                                   "kvstream", "--step-log", "steps.jsonl")
        lines = [json.loads(line) for line in (self.root / "steps.jsonl").read_text().splitlines()]
        for policy in figures["policies"]:
            steps = [line for line in lines if line["policy"] == policy["policy"]]
            self.assertEqual(sum(s["demand_bytes"] for s in steps), policy["demand_bytes"])
            self.assertAlmostEqual(sum(s["retrieval_s"] for s in steps), policy["retrieval_s"])
        self.assertEqual({chunk["holders"] for line in lines if line["policy"] == "single:pfs"
                          for chunk in line["chunks"] if not chunk["staged"]}, {0b10})
        replayed, _ = self.run_json("replay-log", "steps.jsonl", "--logged", "kvstream",
                                    "--policy", "kvstream", "--policy", "single")
        kvstream, single = replayed["policies"]
        self.assertLess(kvstream["retrieval_s"], single["retrieval_s"])
        self.assertGreater(kvstream["retrieval_s"], 0.8 * kvstream["logged_retrieval_s"])


class OtherCommandsTest(KvsimTest):
    def test_a_sweep_is_the_runs_of_its_points(self):
        trace = ["--arrivals", "poisson", "--policy", "kvstream"]
        sweep, _ = self.run_json("sweep", *SMALL[:-2], *TIERS, *trace, "--host-cache",
                                 "1GiB,8GiB", "--rate", "1,3")
        self.assertEqual([(p["host_cache_bytes"] >> 30, p["rate"]) for p in sweep["points"]],
                         [(1, 1), (8, 1), (1, 3), (8, 3)])
        run, _ = self.run_json("run", *SMALL[:-2], *TIERS, *trace, "--host-cache", "8GiB",
                               "--rate", "3")
        self.assertEqual(sweep["points"][3]["hash"], run["policies"][0]["hash"])

    def test_a_sample_comes_near_the_exact_curve(self):
        trace = ["--trace", "builtin:agent,sessions=100,turns=20", "--at", "40GiB"]
        exact, _ = self.run_json("mrc", *trace)
        sampled, _ = self.run_json("mrc", *trace, "--sample", "0.3")
        exact, sampled = (c["demand_curve"]["points"][0] for c in (exact, sampled))
        self.assertEqual(exact["error"], 0)
        self.assertGreater(sampled["error"], 0)
        self.assertAlmostEqual(sampled["miss_ratio"], exact["miss_ratio"], delta=0.1)

    def test_closed_forms_by_hand(self):
        for read, penalty in (("3,1", 1), ("2,1", 1.125), ("3,0.5", 1.75)):
            answer, _ = self.run_json("model", "--read", read, "--split", "75:25")
            self.assertAlmostEqual(answer["static_penalty"], penalty)
        answer, _ = self.run_json("model", "--read", "6GB/s,2GB/s", "--demand", "16GB", "--forward",
                                  "1s", "--write", "2,4", "--new", "3GB")
        self.assertAlmostEqual(answer["bound_s"], 2)
        self.assertAlmostEqual(answer["phi"][0], 0.75)
        self.assertAlmostEqual(answer["step_s"], 3)
        self.assertAlmostEqual(answer["write_load"], 1.5)
        answer, _ = self.run_json("model", "--read", "6,2", "--gpu-link", "7", "--forward", "1s",
                                  "--demand", "42GB")
        self.assertAlmostEqual(answer["retrieval_saving"], 1 / 7)
        self.assertAlmostEqual(answer["step_s"], (1 - answer["step_saving"]) * 8)

    def test_an_export_has_a_record_for_each_access(self):
        figures, _ = self.run_json("mrc", "--trace", "builtin:chat,sessions=5")
        self.run_ok("export", "--trace", "builtin:chat,sessions=5", "--out", "trace.bin")
        self.assertEqual((self.root / "trace.bin").stat().st_size,
                         24 * figures["trace"]["chunk_accesses"])

    def test_a_shipped_device_can_be_printed_changed_and_used(self):
        self.assertIn("testbed1", self.run_ok("devices"))
        text = self.run_ok("devices", "testbed1")
        self.assertEqual(tomllib.loads(text)["tier"][0]["read"], "13.7GB/s")
        (self.root / "mine.toml").write_text(text.replace("13.7GB/s", "20GB/s"))
        figures, _ = self.run_json("run", *SMALL, "--device", "mine.toml", "--policy", "single")
        self.assertEqual(figures["setup"]["tiers"][0]["bandwidth"]["read"], 20e9)


def python_with_matplotlib():
    for python in (sys.executable, "/usr/bin/python3"):
        try:
            found = subprocess.run([python, "-c", "import matplotlib"], capture_output=True)
        except FileNotFoundError:
            continue
        if found.returncode == 0:
            return python
    return None


class ReportTest(KvsimTest):
    def report(self, *arguments):
        python = python_with_matplotlib()
        if python is None:
            self.skipTest("no Python with matplotlib")
        return subprocess.run([python, str(REPORT), *map(str, arguments)], capture_output=True,
                              text=True, timeout=120, cwd=self.root)

    def test_a_page_has_the_figures_and_needs_nothing_from_outside(self):
        self.run_ok("run", *SMALL, *TIERS, "--json", "run.json")
        result = self.report("run.json", "run.html")
        self.assertEqual(result.returncode, 0, result.stderr)
        page = (self.root / "run.html").read_text()
        run = json.loads((self.root / "run.json").read_text())
        for title in ("Time to first token", "Where prefill steps spend their time", "Eq. 4",
                      "Demand over memory", "What a tier delivers"):
            self.assertIn(title, page)
        for policy in run["policies"]:
            self.assertIn(policy["hash"], page)
        for outside in ("src=", "<link", "@import", "url(http"):
            self.assertNotIn(outside, page)
        self.assertEqual(self.report("run.json", "again.html").returncode, 0)
        self.assertEqual((self.root / "again.html").read_text(), page)

    def test_curves_are_drawn_too(self):
        self.run_ok("sweep", *SMALL[:-2], *TIERS, "--host-cache", "1GiB,4GiB", "--policy",
                    "kvstream", "--json", "sweep.json")
        self.run_ok("mrc", "--trace", "builtin:agent", "--json", "mrc.json")
        for name, plots in (("sweep", 3), ("mrc", 1)):
            result = self.report(f"{name}.json", f"{name}.html")
            self.assertEqual(result.returncode, 0, result.stderr)
            self.assertEqual((self.root / f"{name}.html").read_text().count("<svg"), plots)

    def test_a_file_of_another_kind_is_refused(self):
        (self.root / "other.json").write_text('{"program": "other"}')
        (self.root / "broken.json").write_text("{")
        for name in ("other.json", "broken.json", "missing.json"):
            result = self.report(name, "out.html")
            self.assertEqual(result.returncode, 2, name)
            self.assertIn(name, result.stderr)
            self.assertFalse((self.root / "out.html").exists())


if __name__ == "__main__":
    unittest.main()
