import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

import check_tree


class CheckTreeTest(unittest.TestCase):
    def problems(self, files):
        with TemporaryDirectory() as folder:
            for name, text in files.items():
                path = Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return check_tree.check(Path(folder))

    def source(self, text, ratchet=""):
        """Problems of one source that is in the build."""
        return self.problems({"src/a.cc": text, "src/CMakeLists.txt": "add(a.cc)\n",
                              "tools/lint/ratchet.txt": ratchet})

    def oversized_files(self, files):
        return [problem for problem in self.problems(files) if "file-lines" in problem]

    def test_a_clean_tree_has_no_problems(self):
        self.assertEqual(self.source('// Why.\nint F(int a) { return a; }\n'), [])

    def test_functions_may_not_be_longer_than_70_lines(self):
        fits = "void F() {\n" + "G();\n" * 68 + "}\n"
        self.assertEqual(self.source(fits), [])
        self.assertEqual(self.source(fits.replace("}", "G();\n}")),
                         ["src/a.cc:1: function-lines 71 of F is over 70"])

    def test_functions_may_not_have_more_than_six_parameters(self):
        self.assertEqual(self.source("void F(int a, int b, int c, int d, int e, int f) {}\n"), [])
        seven = "void F(int a, int b, int c, int d, int e, int f, int g) {}\n"
        self.assertEqual(self.source(seven), ["src/a.cc:1: parameters 7 of F is over 6"])

    def test_blocks_may_not_nest_deeper_than_four(self):
        self.assertEqual(self.source("void F() {" + "if (a) {" * 4 + "}" * 5 + "\n"), [])
        self.assertEqual(self.source("void F() {" + "if (a) {" * 5 + "}" * 6 + "\n"),
                         ["src/a.cc:1: nesting 5 of F is over 4"])

    def test_files_have_limits_by_kind(self):
        limits = {"src/a.h": 250, "src/b.cc": 500, "src/b_test.cc": 800, "tests/c.h": 800}
        rest = {"src/all.cc": '#include "a.h"\n#include "c.h"\n',
                "CMakeLists.txt": "src/all.cc src/b.cc src/b_test.cc\n"}
        for name, limit in limits.items():
            self.assertEqual(self.oversized_files(rest | {name: "\n" * limit}), [])
            self.assertEqual(self.oversized_files(rest | {name: "\n" * (limit + 1)}),
                             [f"{name}:1: file-lines {limit + 1} of {name} is over {limit}"])

    def test_the_ratchet_allows_what_it_lists_and_no_more(self):
        text = "void F() {\n" + "G();\n" * 78 + "}\n"
        self.assertEqual(self.source(text, "function-lines src/a.cc:F 80\n"), [])
        self.assertEqual(self.source(text, "function-lines src/a.cc:F 79\n"),
                         ["src/a.cc:1: function-lines 80 of F is over 79"])

    def test_the_ratchet_reports_entries_it_no_longer_needs(self):
        self.assertEqual(self.source("int a;\n", "# why\nnesting src/a.cc:F 5\n"),
                         ["tools/lint/ratchet.txt:1: no longer needed: nesting src/a.cc:F"])

    def test_every_source_is_named_by_a_build_file(self):
        orphan = {"src/m/a_test.cc": "int a;\n", "src/CMakeLists.txt": "# m/a_test.cc\n"}
        says = "no CMakeLists.txt names this file, so nobody builds it"
        self.assertEqual(self.problems(orphan), [f"src/m/a_test.cc:1: {says}"])
        orphan["src/CMakeLists.txt"] = 'test(SOURCES "m/a_test.cc")\n'
        self.assertEqual(self.problems(orphan), [])
        orphan["src/CMakeLists.txt"] = "test(SOURCES ${PROJECT_SOURCE_DIR}/src/m/a_test.cc)\n"
        self.assertEqual(self.problems(orphan), [])

    def test_every_header_is_included_by_somebody(self):
        self.assertEqual(self.problems({"src/m/a.h": "int a;\n"}),
                         ["src/m/a.h:1: nobody includes this header"])

    def test_finds_leftovers(self):
        word = "TO" + "DO"
        for line, says in ((f"// {word}: later", "names no issue"), ("int a; ", "end of the line"),
                           ("\tint a;", "tab"), ("#if 0", "switched-off"),
                           ("TEST(A, DIS" + "ABLED_B) {}", "switched-off"),
                           ("// Run(a, b);", "commented-out"), ("// if (a) {", "commented-out"),
                           ("// return a;", "commented-out"), ("// }", "commented-out"),
                           ("// #include <a>", "commented-out"),
                           ("// int a = 1;", "commented-out")):
            found = self.source(f"int b;\n{line}\n")
            self.assertEqual(len(found), 1, line)
            self.assertIn(says, found[0])
            self.assertTrue(found[0].startswith("src/a.cc:2: "), found[0])

    def test_leaves_prose_alone(self):
        for line in ("// TO" + "DO(issue 7): retry", "// The first verified copy wins;",
                     "/// F(a) throws; see G().", "// At most one of {a, b}",
                     "int a;  // see F(x)"):
            self.assertEqual(self.source(f"{line}\n"), [], line)

    def test_wants_a_newline_at_the_end(self):
        self.assertEqual(self.source("int a;"), ["src/a.cc:1: no newline at the end"])

    def test_skips_what_is_not_ours(self):
        names = "build/x/a.cc", "build-y/a.cc", ".git/a.h"
        self.assertEqual(self.problems(dict.fromkeys(names, "\t")), [])


if __name__ == "__main__":
    unittest.main()
