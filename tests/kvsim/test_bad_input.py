import re
import unittest

from kvsim_program import ROOT, SMALL, TIERS, KvsimTest

KNOWN_OPTIONS = {
    "run": ["--trace", "--format", "--order", "--arrivals", "--rate", "--model", "--gpu", "--tp",
            "--nodes", "--gpu-cache", "--host-cache", "--device", "--tier", "--policy",
            "--write-policy", "--stage", "--seed", "--warmup", "--json", "--step-log"],
    "sweep": ["--host-cache", "--rate", "--policy", "--json"],
    "replay-log": ["--logged", "--policy", "--tier", "--json"],
    "mrc": ["--sample", "--at", "--compression", "--json"],
    "model": ["--read", "--split", "--forward", "--json"],
    "export": ["--out", "--model"],
    "devices": ["name"],
}


class UsageTest(KvsimTest):
    def test_help_is_complete(self):
        usage = self.run_ok("--help")
        for command, options in KNOWN_OPTIONS.items():
            self.assertIn(command, usage)
            text = self.run_ok(command, "--help")
            for option in options:
                self.assertIn(option, text, command)

    def test_an_unknown_command_or_none_prints_the_usage(self):
        for arguments in ([], ["rnu"]):
            result = self.run_kvsim(*arguments)
            self.assertEqual(result.returncode, 2)
            self.assertIn("usage: kvsim", result.stderr)


class BadInputTest(KvsimTest):
    def refused(self, message, *arguments):
        before = sorted(self.root.iterdir())
        result = self.run_kvsim(*arguments)
        self.assertEqual(result.returncode, 2, f"{arguments}: {result.stdout}{result.stderr}")
        self.assertIn(message, result.stderr)
        self.assertEqual(sorted(self.root.iterdir()), before, "something was written")

    def test_flags(self):
        run = ["run", *SMALL, *TIERS]
        self.refused("--frobnicate", *run, "--frobnicate")
        self.refused("--policy best: unknown policy", *run, "--policy", "best")
        self.refused("unknown write policy", *run, "--policy", "kvstream+twice")
        self.refused("--stage-full maybe", *run, "--stage-full", "maybe")
        self.refused("--stage: ", *run, "--stage", "lots")
        self.refused("--arrivals never: none of", *run, "--arrivals", "never")
        self.refused("--rate: ", *run, "--arrivals", "poisson", "--rate", "-1")
        self.refused("--rate: with --arrivals closed", *run, "--arrivals", "closed", "--rate", "1")
        self.refused("--turns sometimes", *run, "--turns", "sometimes")
        self.refused("--warmup: ", *run, "--warmup", "long")
        self.refused("--order", *run, "--order", "backwards")
        self.refused("nodes must be from 1", *run, "--nodes", "65")
        self.refused("unknown model '7B'", "run", "--model", "7B", *TIERS)
        self.refused("unknown GPU 'H99'", *run, "--gpu", "H99")
        self.refused("leave no memory for KV", *run[:3], *TIERS, "--model", "110B", "--tp", "1")
        self.refused("needs a tier", "run", *SMALL, "--policy", "kvstream")

    def test_tiers_and_device_files(self):
        run = ["run", *SMALL]
        self.refused("--tier nvme: raed: unknown key", *run, "--tier", "nvme=7GB/s,raed=1GB/s")
        self.refused("there already is a tier nvme", *run, *TIERS[:2], *TIERS[:2])
        self.refused("none of the shipped devices", *run, "--device", "testbed9")
        device = self.root / "node.toml"
        for text, message in (("[[tier]]\nname = 'a'\nread = 'fast'\n", "node.toml:3: read: "),
                              ("[[tier]]\nname = 'a'\nread = '1GB/s'\nspeed = 1\n",
                               "node.toml:4: speed: unknown key"),
                              ("[[tier\n", "node.toml:1: "), ("", "node.toml: no [[tier]]")):
            device.write_text(text)
            self.refused(message, *run, "--device", device)

    def test_traces(self):
        self.refused("open missing.jsonl", "run", "--trace", "missing.jsonl", *TIERS)
        trace = self.root / "bad.jsonl"
        trace.write_text('{"timestamp": 0, "input_length": 1024, "output_length": 5, "hash_ids": '
                         '[1, 2]}\n{"timestamp": 1, "input_len')
        self.refused("bad.jsonl:2", "run", "--trace", trace, *TIERS)
        self.refused("bad.jsonl:2", "mrc", "--trace", trace)
        self.refused("bad.jsonl:2", "export", "--trace", trace, "--out", "out.bin")
        trace.write_text("")
        self.refused("bad.jsonl", "run", "--trace", trace, *TIERS)

    def test_step_logs(self):
        self.refused("missing.jsonl", "replay-log", "missing.jsonl")
        log = self.root / "steps.jsonl"
        log.write_text('{"step": 1}\n')
        self.refused("steps.jsonl:1", "replay-log", log)
        small = ROOT / "tests" / "data" / "step_logs" / "small.jsonl"
        self.refused("--gpu-link: must be above 0", "replay-log", small, "--gpu-link", "0GB/s")
        log.write_text(re.sub('"retrieval_s": *[^,]*', '"retrieval_s":1e15', small.read_text()))
        self.refused("steps.jsonl:1: 'retrieval_s' is 1e+15", "replay-log", log)

    def test_the_other_commands(self):
        self.refused("--sample", "mrc", "--sample", "2")
        self.refused("--at: ", "mrc", "--at", "3..2")
        self.refused("--read", "model")
        self.refused("--read: tier 0", "model", "--read", "0,6", "--forward", "1s")
        self.refused("--new: needs --forward", "model", "--read", "7", "--write", "4", "--new",
                     "1GB")
        self.refused("--split: 3 shares for 2 tiers", "model", "--read", "7,6", "--split", "1:1:1")
        self.refused("--write: 1 bandwidths for 2 tiers", "model", "--read", "7,6", "--write", "4")
        self.refused("--host-cache: ", "sweep", *SMALL, *TIERS, "--host-cache", "9..1GiB")
        self.refused("no shipped device 'x'", "devices", "x")

    def test_a_file_that_cannot_be_written_is_a_failure(self):
        result = self.run_kvsim("run", *SMALL, *TIERS, "--json", "no/such/folder.json")
        self.assertEqual(result.returncode, 1)
        self.assertIn("write no/such/folder.json", result.stderr)


if __name__ == "__main__":
    unittest.main()
