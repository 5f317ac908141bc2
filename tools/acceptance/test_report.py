import contextlib
import io
import sys
import unittest
from pathlib import Path
from unittest import mock

sys.path.insert(0, str(Path(__file__).resolve().parent.parent))

from acceptance import machine, report  # noqa: E402
from acceptance.report import Figure, Point  # noqa: E402


class FakeBench:
    quick = False

    def log(self, text):
        pass


def shown(point, quick=False):
    """What the point prints, and whether it was met."""
    bench = FakeBench()
    bench.quick = quick
    with contextlib.redirect_stdout(io.StringIO()) as out:
        met = report.run(point, bench)
    return out.getvalue(), met


def failing(error):
    def measure(_):
        yield Figure("first", "1", "at least 1")
        raise error
    return measure


class ReportTest(unittest.TestCase):
    def test_one_figure_short_makes_the_point_short(self):
        text, met = shown(Point("x", lambda _: [Figure("one", "5", "at most 4", False),
                                                Figure("two", "3", "at most 4")]))
        self.assertEqual(text, "short   x one: 5 (at most 4)\nok      x two: 3 (at most 4)\n")
        self.assertFalse(met)

    def test_a_note_is_not_judged(self):
        text, met = shown(Point("x", lambda _: [Figure("", "5", "not judged", None)]))
        self.assertEqual(text, "note    x: 5 (not judged)\n")
        self.assertTrue(met)

    def test_a_failure_is_short_and_a_missing_machine_is_skipped(self):
        text, met = shown(Point("x", failing(machine.Failed("exit 1"))))
        self.assertIn("short   x: cannot be measured: exit 1\n", text)
        self.assertFalse(met)
        text, met = shown(Point("x", failing(machine.Unavailable("needs root"))))
        self.assertIn("skipped x: needs root\n", text)
        self.assertTrue(met)

    def test_a_quick_run_says_what_it_skips(self):
        point = Point("x", failing(AssertionError("measured")), (), False, "2 minutes")
        self.assertEqual(shown(point, True),
                         ("skipped x: not in a quick run: 2 minutes\n", True))


class MachineTest(unittest.TestCase):
    def test_a_failing_command_says_what_it_said_last(self):
        with self.assertRaisesRegex(machine.Failed, "sh -c: exit 3: b; c; d"):
            machine.run(["sh", "-c", "printf 'a\nb\nc\nd\n' >&2; exit 3"])

    def test_a_command_that_does_not_end_is_stopped_with_its_children(self):
        # The shell's background child ignores SIGINT.
        with mock.patch.multiple(machine, PROGRAM_TIMEOUT_S=0.2, STOP_TIMEOUT_S=0.2):
            with self.assertRaisesRegex(machine.Failed, "sh -c: not done after 0.2 s"):
                machine.run(["sh", "-c", "sleep 600 & wait"])

    def test_the_limit_in_force_follows_the_wall_clock_and_failures_come_out(self):
        class Tiers:
            rates = []

            def set_rate(self, tier, rate):
                self.rates.append((tier, rate))
                if len(self.rates) == 2:
                    raise machine.Failed("gone")

        tiers = Tiers()
        with self.assertRaisesRegex(machine.Failed, "gone"):
            with machine.ChangingRate(tiers, 1, (10, 20)) as changing:
                changing.thread.join()
        self.assertEqual(sorted(tiers.rates), [(1, 10), (1, 20)])


if __name__ == "__main__":
    unittest.main()
