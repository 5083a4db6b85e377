"""Runs `doorbell amd registers, walk, rings, interrupts, firmware, dump` as a user does, on an emulated GPU that no
kernel driver has.

usage: amd_bare_test.py PATH_OF_DOORBELL
"""

import json
import os
import subprocess
import sys
import unittest

TOOL = os.path.abspath(sys.argv[1])
del sys.argv[1]


def run(command, *arguments, gpu="gfx1100"):
    return subprocess.run([TOOL, "amd", command, "--device", "EMUPCI+AMD", *arguments], capture_output=True, text=True,
                          timeout=120, env=dict(os.environ, EMU_GPU=gpu))


def read(command, *arguments, gpu="gfx1100"):
    done = run(command, *arguments, "--json", gpu=gpu)
    assert done.returncode == 0, done.stderr
    return json.loads(done.stdout)


class BringUp(unittest.TestCase):
    def test_registers_are_read_by_name_with_their_fields(self):
        registers = read("registers", "MMMC_VM_FB_LOCATION_BASE", "CP_MEC_RS64_CNTL")
        self.assertEqual(registers["MMMC_VM_FB_LOCATION_BASE"]["value"], 0x8000)
        self.assertEqual(registers["CP_MEC_RS64_CNTL"]["fields"]["MEC_HALT"], 1)
        started = read("registers", "--start")
        self.assertGreater(len(started), 130)
        self.assertEqual(started["CP_MEC_RS64_CNTL"]["fields"]["MEC_HALT"], 0)
        self.assertEqual(started["IH_RB_CNTL"]["fields"]["RB_SIZE"], 16)
        # Whose reading would change something, or whose value is a queue's.
        for name in ("MMVM_INVALIDATE_ENG17_SEM", "BIF_BX_PF0_RSMU_DATA", "CP_HQD_ACTIVE"):
            self.assertNotIn(name, started)

    def test_a_register_is_written_with_the_users_word_alone(self):
        done = run("registers", "--set", "SCRATCH_REG7=5")
        self.assertEqual(done.returncode, 1)
        self.assertIn("say --yes", done.stderr)
        written = read("registers", "--set", "SCRATCH_REG7=0x1234", "--yes")
        self.assertEqual(written, {"SCRATCH_REG7": {"block": "GC", "value": 0x1234}})
        text = run("registers", "--set", "SCRATCH_REG7=0x1234", "--yes").stdout
        self.assertIn("SCRATCH_REG7  block=GC value=0x1234", text)

    def test_what_changes_is_watched(self):
        done = run("registers", "GOLDEN_TSC_COUNT_LOWER", "--watch", "20")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertGreater(done.stdout.count("GOLDEN_TSC_COUNT_LOWER"), 1)

    def test_an_address_is_walked(self):
        rings = read("rings", "--start")
        ring = rings["compute 0"]["ring"]
        walk = read("walk", "--start", hex(ring))
        self.assertEqual([step["level"] for step in walk["steps"]], list(range(len(walk["steps"]))))
        self.assertEqual(walk["steps"][0]["table"], 0)
        self.assertEqual(walk["steps"][-1]["fields"]["SYSTEM"], 1)
        self.assertEqual(walk["leads_to"]["memory"], "bus")
        self.assertEqual(walk["steps"][-1]["reserved"], 0)
        self.assertEqual(read("walk", "0x1000")["leads_to"], "nowhere: the context is off")

    def test_rings_show_their_packets(self):
        rings = read("rings", "--start", "--all")
        self.assertEqual(sorted(rings), ["compute 0", "copy 0"])
        for ring in rings.values():
            self.assertEqual(ring["unread_words"], 0)
            self.assertEqual(ring["pointers_by"], "memory")
        self.assertEqual([ring["kind"] for ring in rings.values()], ["pm4", "sdma"])
        of_xccs = read("rings", "--start", gpu="gfx942")
        self.assertEqual([ring["kind"] for ring in of_xccs.values()], ["aql", "sdma"])
        self.assertEqual(read("rings"), {})

    def test_interrupts_and_firmware_are_told(self):
        interrupts = read("interrupts", "--start")
        self.assertTrue(interrupts["enabled"])
        self.assertEqual(interrupts["ring_bytes"], 256 << 10)
        cold, started = read("firmware"), read("firmware", "--start", "--ask")
        self.assertEqual(cold["security_processor"], "boot loader")
        self.assertEqual(started["security_processor"], "alive")
        self.assertTrue(started["compute_processor_runs"])
        self.assertEqual(started["power_controller_version"], 0x4e7e00)
        self.assertEqual(started["files"]["gc_11_0_0_mec.bin"], "0xdb01")

    def test_all_is_dumped(self):
        dump = read("dump", "--start")
        self.assertEqual(dump["graphics_core"], "11.0.0")
        self.assertEqual(dump["pci_command"] & 4, 4)
        self.assertEqual(len(dump["queue_registers"]["compute 0"]), 56)
        self.assertEqual(dump["queue_registers"]["compute 0"][2], 1)  # CP_HQD_ACTIVE
        text = run("dump").stdout
        self.assertIn("graphics_core  11.0.0", text)
        self.assertIn("CP_STAT  block=GC value=0", text)

    def test_mistakes_are_named(self):
        self.assertIn("no register CP_STATE", run("registers", "CP_STATE").stderr)
        self.assertIn("is a queue's", run("registers", "CP_HQD_ACTIVE").stderr)
        self.assertIn("Could not convert: address = there", run("walk", "there").stderr)
        self.assertIn("expected a number of 32 bits",
                      run("registers", "--set", "IH_RB_CNTL=0x1ffffffff", "--yes").stderr)
        self.assertIn("GPU 3, there are 1", run("dump", "--gpu", "3").stderr)


if __name__ == "__main__":
    unittest.main()
