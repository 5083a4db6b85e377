"""The public headers as they are installed: what they define, and that they get on with other libraries.

usage: headers_test.py BESIDE_CC STAGED_INCLUDE COMPILER...
"""
import os
import re
import subprocess
import sys
import tempfile
import unittest

# Header, and what a program does with its macros.
OTHERS = {
    "catch2/catch.hpp": 'TEST_CASE("ours") { CHECK(1 + 1 == 2); REQUIRE(true); }\ninline void use_of_other() {}',
    "catch2/catch_test_macros.hpp": 'TEST_CASE("ours") { CHECK(1 + 1 == 2); }\ninline void use_of_other() {}',
    "glog/logging.h": 'inline void use_of_other() { CHECK(1 + 1 == 2) << "sums"; DCHECK_EQ(1, 1); CHECK_LT(1, 2); }',
    "doctest/doctest.h": 'TEST_CASE("ours") { CHECK(1 + 1 == 2); }\ninline void use_of_other() {}',
    "gtest/gtest.h": 'inline void use_of_other() { EXPECT_EQ(1, 1); }',
    # No library: the names that macros most often have.
    None: '#define CHECK 1\n#define TRY 2\n#define OP 3\n#define UNREACHABLE 4\n#define LOG 5\n#define ASSERT 6\n'
          'inline void use_of_other() {}',
}


def exists(header):
    source = f"#include <{header}>\n"
    return subprocess.run([*COMPILER, "-std=c++20", "-E", "-x", "c++", "-"], input=source, text=True,
                          capture_output=True, check=False).returncode == 0


class Headers(unittest.TestCase):
    def staged(self):
        for folder, _, names in os.walk(STAGED):
            for name in names:
                yield os.path.join(folder, name)

    def test_the_root_holds_one_folder(self):
        self.assertEqual(os.listdir(STAGED), ["doorbell"])

    def test_macros_have_a_prefix(self):
        for path in self.staged():
            with open(path, encoding="utf-8") as file:
                for name in re.findall(r"^\s*#\s*define\s+(\w+)", file.read(), re.MULTILINE):
                    self.assertRegex(name, r"^(DOORBELL|doorbell)_", path)

    def test_headers_include_each_other_from_the_one_folder(self):
        for path in self.staged():
            with open(path, encoding="utf-8") as file:
                self.assertNotRegex(file.read(), re.compile(r'^\s*#\s*include\s+"', re.MULTILINE), path)

    def compile_beside(self, other, use, *arguments):
        with tempfile.TemporaryDirectory() as folder:
            files = {"base/util/types.h": "namespace base::util { constexpr bool kOwn = true; }",
                     "own.h": '#include "base/util/types.h"\n#include "core/core.h"',
                     "core/core.h": "namespace core { constexpr bool kOwn = true; }",
                     "beside.h": (f"#include <{other}>\n" if other else "") + use}
            for name, text in files.items():
                os.makedirs(os.path.dirname(os.path.join(folder, name)), exist_ok=True)
                with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                    file.write(text + "\n")
            flags = ["-std=c++20", "-Wall", "-Wextra", "-Werror", "-fsyntax-only", "-I", STAGED, "-I", folder,
                     '-DBESIDE="beside.h"', '-DOWN="own.h"']
            done = subprocess.run([*COMPILER, *flags, *arguments, BESIDE], capture_output=True, text=True,
                                  check=False)
            self.assertEqual(done.returncode, 0, f"beside {other} {arguments}:\n{done.stderr}")

    def test_beside_other_libraries(self):
        missing = []
        for other, use in OTHERS.items():
            if other and not exists(other):
                missing.append(other)
                continue
            for arguments in [(), ("-DBESIDE_LAST",)]:
                with self.subTest(other=other, arguments=arguments):
                    self.compile_beside(other, use, *arguments)
        if missing:
            print("not installed, so not tried:", ", ".join(missing))


if __name__ == "__main__":
    BESIDE, STAGED, *COMPILER = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
