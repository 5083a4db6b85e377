"""Commands, help, version, completion and manual pages of `doorbell`, as a user of a shell meets them.

usage: command_line_test.py PATH_OF_DOORBELL VERSION A_MANUAL_PAGE
"""

import os
import pathlib
import re
import shutil
import subprocess
import sys
import unittest

TOOL = os.path.abspath(sys.argv.pop(1))
VERSION = sys.argv.pop(1)
PAGES = pathlib.Path(sys.argv.pop(1)).resolve().parent


def run(*arguments):
    return subprocess.run([TOOL, *arguments], capture_output=True, text=True, timeout=60)


def commands():
    """The names in `doorbell --help`, with those below them."""
    def listed(text):
        return re.findall(r"^  ([a-z]+) {2,}", re.split("(?i)subcommands:", text)[1], re.MULTILINE)
    return [(name,) for name in listed(run("--help").stdout)] + [
        (group, name) for group in ("amd", "bench", "nv") for name in listed(run(group, "--help").stdout)]


class Help(unittest.TestCase):
    def test_version(self):
        done = run("--version")
        self.assertEqual((done.returncode, done.stdout), (0, f"doorbell {VERSION}\n"))

    def test_help_of_each_command_is_its_own(self):
        self.assertEqual(run("help").stdout, run("--help").stdout)
        self.assertGreater(len(commands()), 12)
        for path in commands():
            done = run("help", *path)
            self.assertEqual(done.returncode, 0, path)
            self.assertEqual(done.stdout, run(*path, "--help").stdout, path)

    def test_unknown_commands_are_named_with_the_nearest(self):
        for arguments, said in (
                (["bogus"], 'no command is called "bogus"; `doorbell help` lists them'),
                (["trase", "--", "true"],
                 'no command is called "trase"; did you mean trace?; `doorbell help` lists them'),
                (["bench", "latncy"],
                 'no command is called "bench latncy"; did you mean latency?; `doorbell help bench` lists them'),
                (["help", "emmu"], 'no command is called "emmu"; did you mean emu?; `doorbell help` lists them')):
            done = run(*arguments)
            self.assertEqual((done.returncode, done.stderr), (1, f"doorbell: {said}\n"))

    def test_errors_of_devices_name_the_option(self):
        for arguments in (["conformance"], ["demo"], ["bench", "latency"]):
            done = run(*arguments, "--device", "CUP")
            self.assertEqual(done.returncode, 1)
            self.assertIn("doorbell: --device: unknown device CUP; did you mean CPU?", done.stderr)


class Completion(unittest.TestCase):
    def bash(self, *words):
        """What bash completes the last of the words to."""
        script = ('source <("$1" completion bash) || exit; shift; COMP_WORDS=("$@"); COMP_CWORD=$(($# - 1)); _doorbell;'
                  'printf "%s\\n" "${COMPREPLY[@]}"')
        done = subprocess.run(["bash", "-c", script, "bash", TOOL, *words], capture_output=True, text=True, timeout=60)
        self.assertEqual((done.returncode, done.stderr), (0, ""), words)
        return done.stdout.split()

    @unittest.skipUnless(shutil.which("bash"), "no bash here")
    def test_bash_completes_commands_options_and_values(self):
        self.assertEqual(self.bash("doorbell", ""), [path[0] for path in commands() if len(path) == 1])
        self.assertEqual(self.bash("doorbell", "de"), ["decode", "demo", "devices"])
        self.assertEqual(self.bash("doorbell", "amd", ""),
                         ["probe", "discovery", "registers", "walk", "rings", "interrupts", "firmware", "unbind",
                          "dump"])
        self.assertEqual(self.bash("doorbell", "bench", ""),
                         ["latency", "gemm", "bandwidth", "attention", "convolution", "collectives"])
        self.assertIn("--adversarial", self.bash("doorbell", "emu", "--"))
        self.assertEqual(self.bash("doorbell", "emu", "--adv"), ["--adversarial"])
        self.assertEqual(self.bash("doorbell", "bench", "latency", "--only", "sig"), ["signal"])
        self.assertEqual(self.bash("doorbell", "bench", "latency", "--only", "=", "sig"), ["signal"])
        self.assertEqual(self.bash("doorbell", "completion", "zs"), ["zsh"])
        self.assertIn(TOOL, self.bash("doorbell", "emu", "--trace", TOOL[:-1]), "a file")
        self.assertIn("python3", self.bash("doorbell", "emu", "--gpu", "gfx1030", "--", "python"))

    def test_every_shell_hears_of_every_command_and_option(self):
        options = set(re.findall(r" (--[a-z-]+)", "".join(run(*path, "--help").stdout for path in commands())))
        self.assertGreater(len(options), 25)
        for shell in ("bash", "zsh", "fish"):
            done = run("completion", shell)
            self.assertEqual(done.returncode, 0)
            for name in [path[-1] for path in commands()] + sorted(options - {"--"}):
                known = f"-l {name[2:]} " if shell == "fish" and name.startswith("--") else name
                self.assertIn(known, done.stdout, shell)
            if shutil.which(shell):
                checked = subprocess.run([shell, "-n", "/dev/stdin"], input=done.stdout, capture_output=True, text=True)
                self.assertEqual((checked.returncode, checked.stderr), (0, ""), shell)
        self.assertEqual(run("completion", "csh").returncode, 105)


class Manual(unittest.TestCase):
    def test_there_is_a_page_for_each_command(self):
        expected = ["doorbell"] + ["-".join(("doorbell", *path)) for path in commands()]
        self.assertEqual(sorted(path.stem for path in PAGES.glob("*.1")), sorted(expected), "tools/meson.build")
        page = (PAGES / "doorbell-emu.1").read_text()
        self.assertTrue(page.startswith(f'.TH "doorbell\\-emu" "1" "" "doorbell {VERSION}" "Doorbell"\n'), page[:80])
        self.assertIn("\\fB\\-\\-trace\\fR", page)

    @unittest.skipUnless(shutil.which("groff"), "no groff here")
    def test_pages_are_right_and_readable(self):
        for path in PAGES.glob("*.1"):
            done = subprocess.run(["groff", "-man", "-Tutf8", "-ww", "-z", path], capture_output=True, text=True)
            self.assertEqual((done.returncode, done.stderr), (0, ""), path)

    @unittest.skipUnless(shutil.which("man"), "no man here")
    def test_man_shows_them(self):
        done = subprocess.run(["man", "-l", PAGES / "doorbell-bench-latency.1"], capture_output=True, text=True,
                              env=os.environ | {"MANPAGER": "cat", "MANWIDTH": "120", "LC_ALL": "C.UTF-8"})
        self.assertEqual(done.returncode, 0, done.stderr)
        text = re.sub(".\b", "", done.stdout)
        self.assertIn("doorbell-bench-latency - Dispatch latency of a device", text)
        self.assertIn("doorbell bench latency [OPTION]...", text)
        self.assertIn("--largest BYTES", text)
        self.assertIn("doorbell bench latency --device NULL --only enqueue,graph", text)


if __name__ == "__main__":
    unittest.main()
