import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

import check_layers


class CheckLayersTest(unittest.TestCase):
    def problems(self, name, text):
        with TemporaryDirectory() as folder:
            path = Path(folder, name)
            path.parent.mkdir(parents=True)
            path.write_text(text)
            return check_layers.check(Path(folder))

    def test_the_table_has_no_cycle(self):
        seen = set()
        for module, allowed in check_layers.LAYERS.items():
            self.assertLessEqual(set(allowed.split()), seen | {"sim"}, module)
            seen.add(module)

    def test_names_place_and_both_modules(self):
        self.assertEqual(self.problems("src/route/a.h", '#pragma once\n#include "io/probe.h"\n'),
                         ["src/route/a.h:2: route may not include io"])

    def test_allows_what_the_table_allows(self):
        names = '"tier/a.h"', '"io/b.h"', '"kvstream/engine.h"', "<fmt/core.h>", "<sys/uio.h>"
        text = "".join(f"#include {name}\n" for name in names)
        self.assertEqual(self.problems("src/tier/a.cc", text), [])

    def test_lets_tests_include_anything(self):
        text = '#include "io/a.h"\n#include <zlib.h>\n'
        for name in ("src/route/a_test.cc", "src/route/a_test_util.h", "tests/sim/a.cc"):
            self.assertEqual(self.problems(name, text), [])

    def test_keeps_third_party_headers_at_their_places(self):
        for name, place in (("liburing.h", "io"), ("simdjson.h", "trace"), ("zlib.h", "trace"),
                            ("CLI/CLI.hpp", "cli"), ("openssl/evp.h", "chunk"),
                            ("isa-l/crc.h", "chunk")):
            text = f"#include <{name}>\n"
            self.assertEqual(self.problems(f"src/{place}/a.cc", text), [])
            self.assertEqual(self.problems("src/engine/a.cc", text),
                             [f"src/engine/a.cc:1: engine may not include <{name}>"])

    def test_knows_no_third_party_header_by_default(self):
        problems = self.problems("src/io/a.cc", "#include <spdlog/spdlog.h>\n")
        self.assertIn("not in the list", problems[0])

    def test_allows_the_simulator_one_header_of_io(self):
        self.assertEqual(self.problems("src/sim/a.h", '#include "io/io_backend.h"\n'), [])
        self.assertEqual(self.problems("src/sim/a.h", '#include "io/uring_backend.h"\n'),
                         ["src/sim/a.h:1: sim may not include io"])

    def test_keeps_public_headers_free_of_third_parties(self):
        self.assertEqual(self.problems("include/kvstream/a.h", "#include <tl/expected.hpp>\n"), [])
        self.assertEqual(self.problems("include/kvstream/a.h", "#include <fmt/core.h>\n"),
                         ["include/kvstream/a.h:1: include may not include <fmt/core.h>"])

    def test_keeps_examples_to_public_headers(self):
        self.assertEqual(self.problems("examples/cpp/a.cc", '#include "base/prng.h"\n'),
                         ["examples/cpp/a.cc:1: example may not include base"])

    def test_keeps_effects_out_of_pure_modules(self):
        for text in ("#include <mutex>\n", "#include <sys/uio.h>\n",
                     "auto t = std::chrono::steady_clock::now();\n"):
            self.assertEqual(len(self.problems("src/core/a.cc", text)), 1, text)
            self.assertEqual(self.problems("src/engine/a.cc", text), [], text)

    def test_reports_a_module_that_is_not_in_the_table(self):
        self.assertIn("not in the table", self.problems("src/extra/a.cc", "int a;\n")[0])


if __name__ == "__main__":
    unittest.main()
