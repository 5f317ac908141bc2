import unittest

from program import ProgramTest

KNOWN_OPTIONS = {
    "replay": ["--tier", "--config", "--policy", "--owner", "--stage", "--high-water", "--age",
               "--verify", "--bounce", "--deadline", "--hang-after", "--trace", "--format",
               "--order", "--sessions", "--requests", "--context-max", "--model", "--chunk-bytes",
               "--batch-requests", "--batch-tokens", "--host-cache", "--read-buffer", "--forward",
               "--time-scale", "--step-log", "--json", "--keep", "--reopen"],
    "bench": ["--tier", "--config", "--policy", "--mode", "--ceiling", "--chunks", "--steps",
              "--idle", "--align", "--evict", "--json"],
}


class UsageTest(ProgramTest):
    def test_help_is_complete(self):
        result = self.run_program("--help")
        self.assertEqual(result.returncode, 0)
        self.assertIn("replay", result.stdout)
        self.assertIn("bench", result.stdout)
        for command, options in KNOWN_OPTIONS.items():
            result = self.run_program(command, "--help")
            self.assertEqual(result.returncode, 0, command)
            for option in options:
                self.assertIn(option, result.stdout, command)

    def test_an_unknown_command_or_none_prints_the_usage(self):
        for arguments in ([], ["relpay"]):
            result = self.run_program(*arguments)
            self.assertEqual(result.returncode, 2)
            self.assertIn("usage: kvstream", result.stderr)
            self.assertEqual(result.stdout, "")


class BadInputTest(ProgramTest):
    def expect_refused(self, message, *arguments, command="replay"):
        result = self.run_program(command, *arguments)
        self.assertEqual(result.returncode, 2, f"{arguments}: {result.stderr}")
        self.assertIn(message, result.stderr)
        for tier in (self.tier_a, self.tier_b):
            self.assertEqual(list(tier.iterdir()), [], "something was written")

    def test_flags(self):
        self.expect_refused("no tier given")
        self.expect_refused("--frobnicate", *self.tiers(), "--frobnicate")
        self.expect_refused("--policy best: unknown policy", *self.tiers(), "--policy", "best")
        self.expect_refused("--stage", *self.tiers(), "--stage", "lots")
        self.expect_refused("--model 7B: unknown", *self.tiers(), "--model", "7B")
        self.expect_refused("--forward roofline: needs --model", *self.tiers(),
                            "--forward", "roofline")
        self.expect_refused("--order", *self.tiers(), "--order", "backwards")
        self.expect_refused("--arrivals", *self.tiers(), "--arrivals", "recorded:")
        self.expect_refused("--mode all: none of step", *self.tiers(), "--mode", "all",
                            command="bench")
        self.expect_refused("--evict 20%", *self.tiers(), "--evict", "20%", command="bench")
        self.expect_refused("takes one tier", *self.tiers(), "--mode", "single", command="bench")

    def test_tiers(self):
        self.expect_refused("capcity: unknown key", "--tier", f"a={self.tier_a},capcity=1GiB")
        self.expect_refused("no directory", "--tier", f"a={self.root}/absent,capacity=1GiB")
        self.expect_refused("already", "--tier", f"a={self.tier_a},capacity=1GiB",
                            "--tier", f"b={self.tier_a},capacity=1GiB")
        self.expect_refused("nested", "--tier", f"a={self.root},capacity=1GiB",
                            "--tier", f"b={self.tier_a},capacity=1GiB")
        self.expect_refused("below one chunk", *self.tiers("1MiB"), "--chunk-bytes", "1MiB")
        self.expect_refused("below one chunk", *self.tiers("1MiB"), command="bench")

    def test_a_config_file_is_named_with_its_line(self):
        config = self.root / "tiers.toml"
        config.write_text(f'[[tier]]\nname = "a"\ndir = "{self.tier_a}"\ncapacty = "1GiB"\n')
        self.expect_refused(f"{config}:4: capacty: unknown key", "--config", str(config))
        config.write_text(f'[[tier]]\nname = "a"\ndir = "{self.tier_a}"\ncapacity = [1]\n')
        self.expect_refused(f"{config}:4: capacity: expected a string", "--config", str(config))
        config.write_text(f'[[tier]]\nname = "a"\ndir = "{self.root}/absent"\ncapacity = "1GiB"\n')
        self.expect_refused(f"{config}:1: no directory", "--config", str(config))
        self.expect_refused("No such file", "--config", str(self.root / "absent.toml"))

    def test_a_trace_is_named_with_its_line(self):
        trace = self.root / "trace.jsonl"
        self.expect_refused(str(trace), *self.tiers(), "--trace", str(trace))
        good = '{"timestamp": 0, "input_length": 512, "output_length": 1, "hash_ids": [0]}\n'
        trace.write_text(good + good.replace("512", "-5"))
        self.expect_refused(f"{trace}:2", *self.tiers(), "--trace", str(trace))
        trace.write_text(good + '{"timestamp": 0, "input_len')
        self.expect_refused(f"{trace}:2", *self.tiers(), "--trace", str(trace))
        trace.write_text("")
        self.expect_refused(str(trace), *self.tiers(), "--trace", str(trace))
        self.expect_refused("builtin:agent", *self.tiers(), "--trace", "builtin:agent,sesions=3")

    def test_a_prompt_that_cannot_be_read_at_once(self):
        self.expect_refused("--read-buffer must be at least", *self.tiers(),
                            "--read-buffer", "1MiB")

    def test_an_output_that_cannot_be_written(self):
        self.expect_refused("absent/steps.jsonl", *self.tiers(),
                            "--step-log", str(self.root / "absent" / "steps.jsonl"))


if __name__ == "__main__":
    unittest.main()
