"""Runs `doorbell decode` as a user does, on streams that tinygrad emitted (see the two stream_test.cc).

usage: decode_test.py PATH_OF_DOORBELL FOLDER_OF_STREAMS FOLDER_OF_NVIDIA_STREAMS
"""

import json
import os
import struct
import subprocess
import sys
import tempfile
import unittest

NVIDIA = sys.argv.pop(3)
DATA = sys.argv.pop(2)
TOOL = sys.argv.pop(1)


def stream(name):
    return os.path.join(DATA, name)


def run(*args, stdin=None):
    return subprocess.run([TOOL, "decode", *args], input=stdin, capture_output=True)


def binary(name):
    """The words of a .hex file as the bytes that a driver would have written."""
    with open(stream(name + ".hex"), encoding="utf-8") as file:
        words = [int(word, 16) for word in file.read().split()]
    return struct.pack(f"<{len(words)}I", *words)


class Decode(unittest.TestCase):
    def test_text_is_the_golden_with_positions(self):
        for kind, gfx in (("pm4", "gfx1100"), ("sdma", "gfx942")):
            name = "gfx11_dispatch.pm4" if kind == "pm4" else "sdma4_copy.sdma"
            result = run(kind, stream(name + ".hex"), "--hex", "--gpu", gfx)
            self.assertEqual(result.returncode, 0, result.stderr)
            with open(stream(name + ".txt"), encoding="utf-8") as file:
                golden = file.read().splitlines()
            lines = result.stdout.decode().splitlines()
            self.assertEqual([line[8:] for line in lines], golden)
            self.assertEqual(lines[1].split()[0], "7" if kind == "pm4" else "6")

    def test_binary_from_standard_input_as_json(self):
        result = run("aql", "-", "--json", stdin=binary("queue.aql"))
        self.assertEqual(result.returncode, 0, result.stderr)
        jump, dispatch = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual(jump["packet"], "VENDOR_PM4_IB")
        self.assertEqual(dispatch["at"], 16)
        self.assertEqual(dispatch["fields"]["kernel_object"], 0x7F1122334440)
        self.assertEqual(dispatch["fields"]["acquire"], "System")
        self.assertIs(dispatch["fields"]["barrier"], True)

    def test_follows_indirect_buffers(self):
        with tempfile.TemporaryDirectory() as folder:
            memory = os.path.join(folder, "memory")
            with open(memory, "wb") as file:
                file.write(struct.pack("<I", 0) * 4 + binary("gfx11_dispatch.pm4"))
            size = len(binary("gfx11_dispatch.pm4")) // 4
            ring = struct.pack("<4I", 0xC0023F00, 0x1010, 0x7F00, size | 1 << 23)
            result = run("pm4", "-", "--memory", memory + "@0x7f0000001000", "--json", stdin=ring)
            self.assertEqual(result.returncode, 0, result.stderr)
            packets = [json.loads(line) for line in result.stdout.splitlines()]
            self.assertEqual([packet["depth"] for packet in packets], [0] + [1] * (len(packets) - 1))
            self.assertEqual(packets[-1]["fields"]["int_ctxid"], 5)

    def test_follows_an_entry_to_pushbuffer_and_qmds(self):
        file = os.path.join(NVIDIA, "ga10x_compute")
        result = run("gpfifo", file + ".gpfifo.hex", "--hex", "--gpu", "sm_86", "--memory",
                     file + ".pushbuffer.hex@0x1040000000", "--memory",
                     os.path.join(NVIDIA, "ga10x.kernargs.hex") + "@0x1030000000")
        self.assertEqual(result.returncode, 0, result.stderr)
        with open(file + ".txt", encoding="utf-8") as golden:
            self.assertEqual([line[8:] for line in result.stdout.decode().splitlines()],
                             golden.read().splitlines())

    def test_what_cannot_be_right_is_the_exit_status(self):
        result = run("pm4", "-", stdin=struct.pack("<2I", 0xC0053C00, 0x15))
        self.assertEqual(result.returncode, 2)
        self.assertIn(b"[cut short: 2 of 7 words", result.stdout)

    def test_bad_arguments_are_one_line(self):
        for args, stdin, message in (
            (("pm4", "/nowhere"), b"", "read /nowhere: No such file or directory"),
            (("pm4", "/tmp"), b"", "read /tmp: Is a directory"),
            (("pm4", "-", "--memory", "/tmp@0x1000"), b"", "read /tmp: Is a directory"),
            (("pm4", "-"), b"abc", "- has 3 bytes, not a multiple of 4"),
            (("pm4", "-", "--hex"), b"1 xyz", "'xyz' is not a word in hex"),
            (("pm4", "-", "--hex"), b"123456789a", "'123456789a' is not a word in hex"),
            (("pm4", "-", "--gpu", "gfx7"), b"", "--gpu gfx7: expected a chip"),
            (("qmd", "-", "--gpu", "gfx1100"), b"", "--gpu gfx1100: expected one of sm_75, sm_80"),
            (("pm4", "-", "--memory", "file"), b"", "--memory file: expected FILE@ADDRESS"),
            (("pm4", "-", "--memory", "file@x"), b"", "'x' is not an address"),
        ):
            result = run(*args, stdin=stdin)
            self.assertEqual(result.returncode, 1, args)
            self.assertEqual(len(result.stderr.splitlines()), 1, result.stderr)
            self.assertIn(message, result.stderr.decode())
        self.assertNotEqual(run("pm3", "-", stdin=b"").returncode, 0)


unittest.main()
