"""Tests of scripts/changed_options.py on what meson writes of a folder's options."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

SCRIPT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts", "changed_options.py")
OPTIONS = [{"name": "python", "value": "auto"}, {"name": "bench", "value": True}, {"name": "jobs", "value": 4},
           {"name": "cpp_args", "value": ["-g", "-O1"]}, {"name": "buildtype", "value": "release"}]


class ChangedOptions(unittest.TestCase):
    def changed(self, *options):
        with tempfile.TemporaryDirectory() as folder:
            os.mkdir(os.path.join(folder, "meson-info"))
            with open(os.path.join(folder, "meson-info", "intro-buildoptions.json"), "w", encoding="utf-8") as file:
                json.dump(OPTIONS, file)
            return subprocess.run([sys.executable, SCRIPT, folder, *options], capture_output=True, text=True,
                                  check=True).stdout.splitlines()

    def test_nothing_where_all_are_as_asked(self):
        self.assertEqual(self.changed("-Dpython=auto", "-Dbench=true", "-Djobs=4", "-Dcpp_args=-g,-O1",
                                      "--buildtype=release"), [])
        self.assertEqual(self.changed(), [])

    def test_what_differs_as_it_was_given(self):
        self.assertEqual(self.changed("-Dpython=enabled", "-Dbench=true", "--buildtype=debug"),
                         ["-Dpython=enabled", "--buildtype=debug"])

    def test_an_option_that_the_folder_does_not_know_yet(self):
        self.assertEqual(self.changed("-Dnew=true"), ["-Dnew=true"])

    def test_the_last_of_two_counts(self):
        self.assertEqual(self.changed("-Dbench=false", "-Dbench=true"), [])


if __name__ == "__main__":
    unittest.main()
