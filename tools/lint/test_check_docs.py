import unittest
from pathlib import Path
from tempfile import TemporaryDirectory

import check_docs


class CheckDocsTest(unittest.TestCase):
    def problems(self, files):
        with TemporaryDirectory() as folder:
            for name, text in files.items():
                path = Path(folder, name)
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_text(text)
            return check_docs.check(Path(folder))

    def test_a_page_has_one_title_on_its_first_line(self):
        self.assertEqual(self.problems({"a.md": "# A\n\n```sh\n# a comment\n```\n## B\n"}), [])
        for text in ("text\n", "# A\n# B\n", "text\n# A\n"):
            self.assertEqual(len(self.problems({"a.md": text})), 1, text)

    def test_relative_links_lead_to_files_and_headings(self):
        links = "[b](../b.md) [c](../b.md#two-words) [d](https://x.org/y) [e](#a)"
        pages = {"docs/a.md": f"# A\n{links}\n", "b.md": "# B\n## Two words\n"}
        self.assertEqual(self.problems(pages), [])
        pages["docs/a.md"] = "# A\n[b](b.md)\n[c](../b.md#three)\n"
        self.assertEqual(self.problems(pages), ["docs/a.md:2: b.md leads nowhere",
                                                "docs/a.md:3: ../b.md#three: no such heading"])

    def test_code_is_not_searched_for_links(self):
        self.assertEqual(self.problems({"a.md": "# A\n`[x](y)`\n```\n[x](y)\n```\n"}), [])

    def test_a_verbatim_block_equals_its_file(self):
        page = "# A\n<!-- verbatim: x.cc -->\n```cpp\nint a;\n```\n"
        self.assertEqual(self.problems({"a.md": page, "x.cc": "int a;\n"}), [])
        self.assertEqual(self.problems({"a.md": page, "x.cc": "int b;\n"}),
                         ["a.md:2: the block below differs from x.cc"])

    def test_a_verbatim_mark_without_a_block_is_an_error(self):
        page = "# A\n<!-- verbatim: x.cc -->\ntext\n"
        self.assertEqual(len(self.problems({"a.md": page, "x.cc": ""})), 1)


if __name__ == "__main__":
    unittest.main()
