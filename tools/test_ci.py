import contextlib
import io
import sys
import unittest
from pathlib import Path
from tempfile import TemporaryDirectory
from unittest import mock

import ci

JUNIT = """<testsuite>
<testcase name="A.Passes" status="run"/>
<testcase name="A.Fails" status="fail"><failure message="Failed"/></testcase>
<testcase name="A.Skips" status="notrun"><skipped message="SKIP_REGULAR_EXPRESSION_MATCHED"/>
<system-out>[ RUN      ] A.Skips
a_test.cc:5: Skipped
needs O_DIRECT
[  SKIPPED ] A.Skips (0 ms)</system-out></testcase>
<testcase name="lost" status="notrun"><skipped message="Unable to find executable"/></testcase>
</testsuite>"""


class CiTest(unittest.TestCase):
    def setUp(self):
        folder = TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.folder = Path(folder.name)
        patch = mock.patch.object(ci, "LOGS", self.folder)
        patch.start()
        self.addCleanup(patch.stop)

    def run_stage(self, *steps):
        output = io.StringIO()
        with contextlib.redirect_stdout(output):
            count = ci.run_stage(ci.Stage("s", "says", 1, steps))
        return count, output.getvalue()

    def shell(self, text, **options):
        return ci.Step("step", ("sh", "-c", text), **options)

    def test_counts_the_cases_of_ctest(self):
        path = self.folder / "report.xml"
        path.write_text(JUNIT)
        count = ci.count_ctest(path)
        self.assertEqual(str(count), "1 passed, 2 failed, 1 skipped")
        self.assertEqual(count.notes, ["failed A.Fails", "skipped A.Skips: needs O_DIRECT",
                                       "failed lost"])

    def test_counts_the_cases_of_unittest(self):
        text = ("FAIL: test_a (t.T.test_a)\n\nRan 7 tests in 0.1s\n\n"
                "FAILED (failures=1, errors=2, skipped=1)\n")
        count = ci.count_unittest(text)
        self.assertEqual(str(count), "3 passed, 3 failed, 1 skipped")
        self.assertEqual(count.notes, ["failed test_a"])
        self.assertEqual(str(ci.count_unittest("Ran 1 test in 0.1s\n\nOK\n")), "1 passed, 0 failed")

    def test_a_command_without_cases_counts_one(self):
        self.assertEqual(str(self.run_stage(self.shell("true"))[0]), "1 passed, 0 failed")
        self.assertEqual(str(self.run_stage(self.shell("exit 3"))[0]), "0 passed, 1 failed")

    def test_a_program_that_is_not_there_fails_the_stage(self):
        self.assertEqual(self.run_stage(ci.Step("x", ("no-such-program",)))[0].failed, 1)

    def test_a_step_that_needs_an_absent_program_is_skipped_with_its_reason(self):
        count, output = self.run_stage(self.shell("false", needs="no-such-program"))
        self.assertEqual(str(count), "0 passed, 0 failed, 1 skipped")
        self.assertIn("there is no no-such-program", output)

    def test_a_runner_that_ran_nothing_has_failed(self):
        step = self.shell("echo Ran 0 tests in 0.0s", runner="unittest")
        self.assertEqual(self.run_stage(step)[0].failed, 1)

    def test_a_runner_that_dies_has_failed_whatever_its_cases_say(self):
        step = self.shell("echo Ran 4 tests in 0.0s; exit 9", runner="unittest")
        self.assertEqual(str(self.run_stage(step)[0]), "4 passed, 1 failed")

    def test_a_stale_report_is_not_counted(self):
        (self.folder / "s-step.xml").write_text(JUNIT)
        step = self.shell("true", runner="ctest")
        self.assertEqual(str(self.run_stage(step)[0]), "0 passed, 1 failed")

    def test_a_stage_ends_when_a_required_step_fails(self):
        failing, passing = self.shell("false", required=True), self.shell("true")
        self.assertEqual(str(self.run_stage(failing, passing)[0]), "0 passed, 1 failed")
        self.assertEqual(str(self.run_stage(self.shell("false"), passing)[0]), "1 passed, 1 failed")

    def test_the_output_of_a_failing_command_is_shown(self):
        self.assertIn("the cause", self.run_stage(self.shell("echo the cause; false"))[1])
        self.assertNotIn("all is well", self.run_stage(self.shell("echo all is well"))[1])

    def test_the_last_line_is_the_total_and_the_exit_code_says_failure(self):
        for command, line, code in (("true", "1 passed, 0 failed", 0),
                                    ("false", "0 passed, 1 failed", 1)):
            stage = ci.Stage("s", "says", 1, (self.shell(command),))
            output = io.StringIO()
            with mock.patch.object(ci, "stages", lambda: (stage,)), \
                    mock.patch.object(sys, "argv", ["ci.py", "all"]), \
                    contextlib.redirect_stdout(output):
                self.assertEqual(ci.main(), code)
            self.assertEqual(output.getvalue().splitlines()[-1], line)

    def test_an_unknown_stage_is_refused(self):
        with mock.patch.object(sys, "argv", ["ci.py", "nope"]), \
                contextlib.redirect_stderr(io.StringIO()) as errors, \
                self.assertRaises(SystemExit) as raised:
            ci.main()
        self.assertEqual(raised.exception.code, 2)
        self.assertIn("no such stage: nope", errors.getvalue())


if __name__ == "__main__":
    unittest.main()
