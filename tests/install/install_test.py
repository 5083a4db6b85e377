"""Installs the library into an empty folder and builds a program against it there, by pkg-config and by CMake.

usage: install_test.py CONSUMER MESON BUILD_FOLDER PREFIX COMPILER...
"""
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

SOURCE = os.path.dirname(os.path.abspath(sys.argv[1]))


def run(*command, **options):
    done = subprocess.run(command, capture_output=True, text=True, check=False, **options)
    assert done.returncode == 0, f"{' '.join(command)}\n{done.stdout}{done.stderr}"
    return done.stdout


class Installed(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.folder = tempfile.TemporaryDirectory()
        cls.root = cls.folder.name
        run(MESON, "install", "-C", BUILD, "--no-rebuild", "--destdir", cls.root)
        cls.prefix = cls.root + PREFIX
        packages = subprocess.run(["find", cls.root, "-name", "doorbell.pc"], capture_output=True, text=True,
                                  check=True).stdout.split()
        assert len(packages) == 1, packages
        cls.environment = dict(os.environ, PKG_CONFIG_PATH=os.path.dirname(packages[0]),
                               XDG_CACHE_HOME=os.path.join(cls.root, "cache"))

    @classmethod
    def tearDownClass(cls):
        cls.folder.cleanup()

    def check(self, program):
        # From where programs are installed, it finds what the library loads at run time.
        place = os.path.join(self.prefix, "bin", os.path.basename(program))
        shutil.copy(program, place)
        self.assertEqual(run(place, env=self.environment, cwd=self.root), "12 2\n")

    def test_pkg_config(self):
        flags = run("pkg-config", "--cflags", "--libs", "doorbell", env=self.environment).split()
        program = os.path.join(self.root, "by_pkg_config")
        run(*COMPILER, "-std=c++20", "-Wall", "-Wextra", "-Werror", CONSUMER, "-o", program, *flags)
        self.check(program)

    def test_cmake(self):
        build = os.path.join(self.root, "by_cmake")
        run("cmake", "-S", SOURCE, "-B", build, "-DCMAKE_PREFIX_PATH=" + self.prefix,
            "-DCMAKE_CXX_COMPILER=" + COMPILER[-1], env=dict(self.environment, PKG_CONFIG_PATH=""))
        run("cmake", "--build", build)
        self.check(os.path.join(build, "consumer"))

    def test_nothing_of_the_source_tree_is_named(self):
        with open(os.path.join(self.environment["PKG_CONFIG_PATH"], "doorbell.pc"), encoding="utf-8") as file:
            text = file.read()
        self.assertNotIn(os.path.dirname(os.path.dirname(SOURCE)), text)

    def test_the_tool_runs(self):
        listed = run(os.path.join(self.prefix, "bin", "doorbell"), "devices", env=self.environment, cwd=self.root)
        self.assertIn("CPU", listed)


if __name__ == "__main__":
    CONSUMER, MESON, BUILD, PREFIX, *COMPILER = sys.argv[1:]
    unittest.main(argv=sys.argv[:1])
