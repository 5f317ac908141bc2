import unittest

import cpp_scan


def scan(text):
    return {f.name: f for f in cpp_scan.functions(text)}


class CppScanTest(unittest.TestCase):
    def test_counts_lines_from_head_to_closing_brace(self):
        found = scan("namespace a {\n\nint F(int x,\n      int y) {\n  return x;\n}\n\n}\n")
        self.assertEqual(found["F"].line, 3)
        self.assertEqual(found["F"].lines, 4)
        self.assertEqual(found["F"].parameters, 2)

    def test_counts_blocks_but_not_initialisers_as_nesting(self):
        body = "for (;;) { if (x) { do { Use(S{1, {2}}); int a[] = {1}; } while (y); } else { } }"
        self.assertEqual(scan("void F() {" + body + "}")["F"].nesting, 3)

    def test_counts_lambdas_as_nesting(self):
        body = "Each(v, [&](int x) { if (x) { G(); } }); auto f = [] { H(); };"
        self.assertEqual(scan("void F() {" + body + "}")["F"].nesting, 2)

    def test_counts_case_blocks(self):
        self.assertEqual(scan("void F(int a) { switch (a) { case 1: { G(); } } }")["F"].nesting, 2)

    def test_goes_on_after_a_lambda_among_arguments(self):
        found = scan("void F() { G([] { H(); }, 1); }\nvoid K(int a, int b) {}\n")
        self.assertEqual(set(found), {"F", "K"})
        self.assertEqual(found["K"].parameters, 2)

    def test_knows_constructors_with_initialiser_lists(self):
        found = scan("Foo::Foo(int a, int b) : Base{a}, b_(b), c_{1, 2} {\n  Run();\n}\n")
        self.assertEqual(list(found), ["Foo::Foo"])
        self.assertEqual((found["Foo::Foo"].parameters, found["Foo::Foo"].lines), (2, 3))

    def test_finds_methods_inside_classes_and_skips_access_labels(self):
        found = scan("class A final {\n public:\n\n  void F() const {\n  }\n int x_{1};\n};\n")
        self.assertEqual([(f.name, f.line) for f in found.values()], [("F", 4)])

    def test_ignores_braces_in_strings_comments_and_directives(self):
        body = '  // }\n  /* } */ G("}", \'}\');\n#define X }\n  R"j({{)j";\n'
        self.assertEqual(scan("void F() {\n" + body + "}\nint b;\n")["F"].lines, 6)

    def test_keeps_digit_separators_apart_from_characters(self):
        self.assertEqual(scan("int F() { return 1'000; }\nint G() { return 2'000; }\n").keys(),
                         {"F", "G"})

    def test_counts_no_commas_inside_template_arguments(self):
        found = scan("void F(std::map<int, int> a, std::span<const T> b) {}")
        self.assertEqual(found["F"].parameters, 2)

    def test_names_call_operators_and_skips_attributes(self):
        found = scan("struct alignas(64) H { size_t operator()(int a, int b) const noexcept { } };")
        self.assertEqual(found["operator_call"].parameters, 2)


if __name__ == "__main__":
    unittest.main()
