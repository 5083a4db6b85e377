"""Tests of tidy: a small clean project passes, and each broken rule is found where it is broken."""
import os
import sys
import tempfile
import unittest

sys.path.insert(0, os.path.dirname(os.path.abspath(__file__)))
import arrows  # noqa: E402
import cxx  # noqa: E402
import tidy  # noqa: E402

HEADER = "// A header of the clean project; it leaves all else to others.\n#pragma once\n"
SOURCE = "// A source of the clean project; it leaves all else to others.\n"

CLEAN = {
    "README.md": "# Title\n\nSee [the map](docs/map.md#the-one-map) and [the web](https://example.org/x).\n",
    "docs/map.md": "# The one map\n\n[up](../README.md) `[not](a-link)`\n",
    "base/meson.build": "sources = files('util/a.cc')\n",
    "base/util/a.h": HEADER,
    "base/util/a.cc": SOURCE + '#include "base/util/a.h"\n\nint one() { return 1; }\n',
}


class TidyTest(unittest.TestCase):
    def findings(self, files, keep_clean=True):
        """(path, line, rule) of what tidy finds in the clean project changed by `files`."""
        with tempfile.TemporaryDirectory() as root:
            for path, text in {**(CLEAN if keep_clean else {}), **files}.items():
                os.makedirs(os.path.join(root, os.path.dirname(path)), exist_ok=True)
                with open(os.path.join(root, path), "w", encoding="utf-8") as file:
                    file.write(text)
            return [(found.path, found.line, found.rule) for found in tidy.check(root)]

    def in_source(self, code, path="base/util/a.cc"):
        """Findings when the clean source has this code, as (line of the code, rule)."""
        text = SOURCE + '#include "base/util/a.h"\n' + code + "\n"
        return [(line - 2, rule) for found, line, rule in self.findings({path: text}) if found == path]

    def test_clean_project_passes(self):
        self.assertEqual(self.findings({}), [])

    def test_header_comment(self):
        self.assertIn(("base/util/a.h", 1, "header-comment"),
                      self.findings({"base/util/a.h": "#pragma once\n"}))
        self.assertIn(("scripts/x.sh", 1, "header-comment"), self.findings({"scripts/x.sh": "#!/bin/sh\nls\n"}))

    def test_pragma_once(self):
        self.assertIn(("base/util/a.h", 1, "pragma-once"),
                      self.findings({"base/util/a.h": HEADER.replace("#pragma once", "// guard")}))

    def test_banners(self):
        self.assertEqual(self.in_source("// ---- nodes ----------------\n// Makes one."), [])
        self.assertEqual(self.in_source("// ---- nodes\n// ---------------- Makes one."), [(2, "banner")])

    def test_width_and_whitespace(self):
        self.assertEqual(self.in_source("// " + "x" * 98), [(1, "width")])
        self.assertEqual(self.in_source("// " + "x" * 97), [])
        self.assertEqual(self.in_source("// " + "é" * 97), [], "columns, not bytes")
        self.assertEqual(self.in_source("int a; "), [(1, "whitespace")])

    def test_file_length(self):
        long = "int a;\n" * 500
        self.assertEqual(self.in_source(long)[:1], [(-1, "file-length")])
        self.assertEqual(self.in_source("// Long because it is one table.\n" + long), [])

    def test_function_length(self):
        body = "  step();\n"
        self.assertEqual(self.in_source("void f() {\n" + body * 68 + "}"), [])
        self.assertEqual(self.in_source("void f() {\n" + body * 69 + "}"), [(1, "function-length")])
        self.assertEqual(self.in_source("namespace n {\nvoid\nf() {\n" + body * 69 + "}\n}"),
                         [(2, "function-length")])
        self.assertEqual(self.in_source("struct S {\n" + "  int f() { return 1; }\n" * 80 + "};"), [])
        self.assertEqual(self.in_source("int a[] = {\n" + "  1,\n" * 80 + "};"), [])

    def test_function_names(self):
        code = cxx.blank(
            "TEST(A, b) {\n}\n"
            "template <class T>\nint Class<T>::g(int x, std::map<int, int> y) const {\n  if (x) { h([] { }); }\n}\n"
            'const char* s = "{ not ( code";  // {\n'
            "enum class E { A, B };\nauto big = 1'000'000; char brace = '{';\n"
            "struct S : T {\n  S() : a_(1) {}\n  bool operator==(const S&) const = default;\n};\n")
        self.assertEqual([function.name for function in cxx.functions(code.split("\n"))],
                         ["A.b", "::g", "S"])

    def test_todo_form(self):
        self.assertEqual(self.in_source("// TODO make it so"), [(1, "todo")])
        self.assertEqual(self.in_source("// FIX" + "ME"), [(1, "todo")])
        self.assertEqual(self.in_source("// TODO(ada): make it so, see #12"), [])

    def test_banned_calls(self):
        for code, rule in (('auto a = getenv("X");', "getenv"), ("#include <iostream>", "iostream"),
                           ("void f() { std::cout << 1; }", "prints"), ('void f() { printf("x"); }', "prints"),
                           ("void f() { std::abort(); }", "aborts"), ("void f() { exit(1); }", "aborts"),
                           ('void f() { dlopen("x", 0); }', "doors"), ('void f() { system("x"); }', "doors"),
                           ("#include <spdlog/spdlog.h>", "spdlog"), ("void f() { assert(1); }", "assert")):
            self.assertEqual(self.in_source(code), [(1, rule)], code)
        for code in ("#include <ostream>", "static_assert(true);", "// abort() and printf() in words",
                     'auto text = "exit(1)";', "void f() { snprintf(p, 1, q); }", "void f() { queue.exit(); }"):
            self.assertEqual(self.in_source(code), [], code)

    def test_getenv_is_for_the_runtime(self):
        text = SOURCE + 'auto a = getenv("X");\n'
        build = {"runtime/meson.build": "sources = files('r.cc')\n"}
        self.assertEqual(self.findings({"runtime/r.cc": text, **build}), [])

    def test_using_namespace(self):
        self.assertIn(("base/util/a.h", 3, "using-namespace"),
                      self.findings({"base/util/a.h": HEADER + "using namespace std;\n"}))
        self.assertEqual(self.in_source("using namespace std;"), [])

    def test_include_path(self):
        self.assertEqual(self.in_source('#include "a.h"'), [(1, "include-path")])

    def test_arrow_in_a_file(self):
        files = {"core/x.h": HEADER, "core/meson.build": "sources = files()\n"}
        text = SOURCE + '#include "base/util/a.h"\n#include "core/x.h"\n'
        self.assertEqual(self.findings({**files, "base/util/a.cc": text}), [("base/util/a.cc", 3, "arrow")])

    def test_arrows(self):
        wrong = (("base/a.h", "core/a.h"), ("core/a.h", "codegen/a.h"), ("core/a.h", "hcq/a.h"),
                 ("codegen/a.cc", "hcq/a.h"), ("codegen/a.cc", "drivers/amd/device.h"),
                 ("codegen/a.cc", "drivers/amd/hw/packets.h"), ("hcq/a.h", "core/uop/uop.h"),
                 ("hcq/a.h", "drivers/cpu/device.h"), ("drivers/amd/a.cc", "codegen/a.h"),
                 ("drivers/amd/a.cc", "drivers/nv/a.h"), ("drivers/amd/a.cc", "drivers/nv/hw/a.h"),
                 ("drivers/amd/a.cc", "core/uop/uop.h"), ("drivers/amd/hw/a.h", "drivers/amd/caps.h"),
                 ("drivers/amd/hw/a.h", "hcq/a.h"), ("drivers/amd/hw/a.h", "drivers/nv/hw/a.h"),
                 ("emulator/amd/a.cc", "drivers/amd/device.h"), ("emulator/amd/a.cc", "core/uop/uop.h"),
                 ("emulator/nv/a.cc", "emulator/amd/a.h"), ("emulator/core/a.h", "emulator/nv/a.h"),
                 ("emulator/amd/a.cc", "drivers/amd/caps/gfx11.h"), ("tensor/a.cc", "drivers/cpu/a.h"),
                 ("tensor/a.cc", "runtime/a.h"), ("runtime/a.cc", "tools/a.h"), ("tools/a.cc", "tests/support/a.h"),
                 ("bench/a.cc", "tests/support/a.h"))
        for includer, included in wrong:
            self.assertIsNotNone(arrows.wrong(includer, included), f"{includer} -> {included}")
        right = (("base/a.h", "base/b.h"), ("core/a.h", "base/a.h"), ("codegen/a.cc", "core/uop/uop.h"),
                 ("codegen/a.cc", "drivers/amd/hw/isa/a.h"), ("codegen/a.cc", "drivers/nv/hw/abi/a.h"),
                 ("hcq/a.h", "core/device/device.h"), ("drivers/amd/a.cc", "hcq/queue/queue.h"),
                 ("drivers/amd/a.cc", "core/device/device.h"), ("drivers/amd/kernel/a.cc", "drivers/amd/hw/a.h"),
                 ("drivers/amd/hw/a.h", "base/bits/record.h"), ("emulator/amd/a.cc", "drivers/amd/hw/a.h"),
                 ("emulator/nv/a.cc", "emulator/core/a.h"), ("emulator/cuda/a.cc", "emulator/nv/a.h"),
                 ("tensor/a.cc", "codegen/a.h"), ("runtime/a.cc", "drivers/cpu/a.h"), ("tools/a.cc", "runtime/a.h"),
                 ("tests/a.cc", "drivers/cpu/a.h"))
        for includer, included in right:
            self.assertIsNone(arrows.wrong(includer, included), f"{includer} -> {included}")

    def test_record_citation(self):
        record = "struct Packet {{\n  static constexpr u32 kWords = 2;\n}};\n"
        user = {"drivers/amd/meson.build": "sources = files('a.cc')\n",
                "drivers/amd/a.cc": SOURCE + '#include "drivers/amd/hw/p.h"\n'}
        for comment, findings in (("// What it does.\n", [("drivers/amd/hw/p.h", 4, "citation")]),
                                  ("// What it does.\n// [Manual, page 12]\n", []),
                                  ("// What it does.\ntemplate <int kBits>\n", [("drivers/amd/hw/p.h", 5, "citation")]),
                                  ("// [Manual, page 12]\ntemplate <int kBits>\n", [])):
            text = HEADER + comment + record.format()
            self.assertEqual(self.findings({**user, "drivers/amd/hw/p.h": text}), findings)

    def test_links(self):
        self.assertEqual(self.findings({"README.md": "[a](none.md)\n"}), [("README.md", 1, "link")])
        self.assertEqual(self.findings({"README.md": "\n[a](docs/map.md#none)\n"}), [("README.md", 2, "link")])
        self.assertEqual(self.findings({"README.md": "```\n[a](none.md)\n```\n[b](docs)\n"}), [])

    def test_dead_files(self):
        self.assertEqual(self.findings({"base/util/b.cc": SOURCE}), [("base/util/b.cc", 1, "dead")])
        self.assertEqual(self.findings({"base/util/b.h": HEADER}), [("base/util/b.h", 1, "dead")])
        # Named by its stem, as the tables of benchmarks and examples do.
        bench = {"bench/meson.build": "benches = ['fast']\n", "bench/fast.cc": SOURCE}
        self.assertEqual(self.findings(bench), [])
        # The build of runtime/ reads which devices there are.
        devices = {"runtime/devices.def": "// The devices.\nDEVICE(one)\nLINUX(three)\n",
                   "runtime/devices/one.cc": SOURCE, "runtime/devices/three.cc": SOURCE,
                   "runtime/devices/two.cc": SOURCE, "runtime/meson.build": "sources = files('../devices.def')\n"}
        self.assertEqual([(path, rule) for path, _, rule in self.findings(devices) if path.endswith(".cc")],
                         [("runtime/devices/two.cc", "dead")])

    def test_root_files(self):
        self.assertEqual(self.findings({"a.log": "", ".gitignore": ""}), [("a.log", 1, "root-file")])

    def test_generated_files_are_exempt(self):
        text = "// Generated by tools/layout from the vendor's table.\n#pragma once\n// " + "x" * 200 + "\n"
        self.assertEqual(self.findings({"base/util/a.h": text}), [])

    def test_exceptions_need_a_reason_and_a_use(self):
        wide = {"base/util/a.cc": SOURCE + '#include "base/util/a.h"\n// ' + "x" * 98 + "\n"}
        allow = {tidy.ALLOWED: "# why\nwidth base/util/a.cc: one table, aligned by hand\n"}
        self.assertEqual(self.findings({**wide, **allow}), [])
        self.assertEqual(self.findings(allow), [(tidy.ALLOWED, 2, "allowed")])
        hasty = {tidy.ALLOWED: "width base/util/a.cc\n"}
        self.assertIn((tidy.ALLOWED, 1, "allowed"), self.findings({**wide, **hasty}))


class ReadingTest(unittest.TestCase):
    def test_blank_keeps_lines_and_includes(self):
        text = '#include "a/b.h"\nint a; /* x\n y */ int b; // c\nauto r = R"(\n")";\nint n = 1\'000;\n'
        blanked = cxx.blank(text)
        self.assertEqual(blanked.count("\n"), text.count("\n"))
        self.assertEqual([line.strip() for line in blanked.split("\n")],
                         ['#include "a/b.h"', "int a;", "int b;", "auto r =", ";", "int n = 1'000;", ""])


if __name__ == "__main__":
    unittest.main()
