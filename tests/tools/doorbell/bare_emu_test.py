"""Runs programs under `doorbell emu --bare`: GPUs that no kernel driver has, as PCI devices under /sys. Doorbell itself
with the interface that it has on hardware, a program that tries instructions on registers, Debian's lspci, and
tinygrad's own PCI driver.

usage: bare_emu_test.py PATH_OF_DOORBELL PATH_OF_BARE_CLIENT PYTHON
"""

import json
import os
import shutil
import subprocess
import sys
import tempfile
import unittest

TOOL, CLIENT, PYTHON = (os.path.abspath(path) if "/" in path else path for path in sys.argv[1:4])
del sys.argv[1:4]

REGISTERS = "/sys/bus/pci/devices/0000:03:00.0/resource5"
CONFIG_MEMSIZE = 0xde3

# tinygrad's start of a card, with the machine's firmware in place of the network's, and without what is behind it:
# clock gating, whose handshake (RLC_SAFE_MODE) is not emulated.
TINYGRAD = """
from tinygrad.runtime.support.am import amdev, ip
from tinygrad.runtime.support.system import PCIDevice
amdev.fetch_fw = lambda folder, name, digest: open(f"/lib/firmware/{folder}/{name}", "rb").read()
ip.AM_GFX.set_clockgating_state = lambda self: None
gpu = amdev.AMDev(PCIDevice("AM", "0000:03:00.0"))
print(gpu.partial_boot, gpu.vram_size >> 20, gpu.psp.is_sos_alive(), gpu.smu.is_smu_alive(),
      hex(gpu.reg("regSCRATCH_REG7").read()))
"""


def under(gpu, *command, check="error", **environment):
    return subprocess.run([TOOL, "emu", "--bare", "--gpu", gpu, "--check", check, "--", *command], capture_output=True,
                          text=True, timeout=200, env={**os.environ, **environment})


class Bare(unittest.TestCase):
    def test_doorbell_reads_the_same_table_as_in_its_own_process(self):
        for gpu in ("gfx1100", "gfx1201", "gfx942"):
            there = under(gpu, TOOL, "amd", "discovery", "--device", "PCI+AMD", "--json")
            self.assertEqual(there.returncode, 0, there.stderr)
            here = subprocess.run([TOOL, "amd", "discovery", "--device", "EMUPCI+AMD", "--json"], capture_output=True,
                                  text=True, timeout=120, env={**os.environ, "EMU_GPU": gpu})
            self.assertEqual(json.loads(there.stdout), json.loads(here.stdout))

    def test_doorbell_starts_a_card_and_the_next_process_finds_it_alive(self):
        command = f"{TOOL} amd registers CP_MEC_RS64_CNTL --start --json && {TOOL} amd firmware --json"
        done = under("gfx1100", "sh", "-c", command)
        self.assertEqual(done.returncode, 0, done.stderr)
        decoder = json.JSONDecoder()
        registers, end = decoder.raw_decode(done.stdout)
        firmware, _ = decoder.raw_decode(done.stdout[end:].lstrip())
        self.assertEqual(registers["CP_MEC_RS64_CNTL"]["fields"]["MEC_HALT"], 0)
        self.assertEqual((firmware["started_by"], firmware["security_processor"]), (0xdb000001, "alive"))
        self.assertEqual(firmware["graphics_core_started"], True)

    def test_instructions_on_registers_do_what_they_do_on_memory(self):
        done = under("gfx1100", TOOL, "amd", "discovery", "--json")
        table = json.loads(done.stdout)[0]
        base = next(block["bases"] for block in table["blocks"] if block["name"] == "GC")
        scratch = base[1] + 0x2047  # [gc_11_0_0_offset.h regSCRATCH_REG7, regSCRATCH_REG7_BASE_IDX]
        done = under("gfx1100", CLIENT, REGISTERS, str(CONFIG_MEMSIZE), str(scratch), check="off")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("42 forms, 0 wrong; 0x5ff0", done.stdout)

    @unittest.skipUnless(shutil.which("lspci"), "lspci is not installed")
    def test_lspci_lists_the_cards_and_no_others(self):
        done = under("gfx1100,gfx942", "lspci", "-nnv")
        self.assertEqual(done.returncode, 0, done.stderr)
        devices = [line for line in done.stdout.splitlines() if line[:1].isalnum()]
        self.assertEqual(len(devices), 2, done.stdout)
        for line, slot, number in zip(devices, ("03:00.0", "04:00.0"), ("1002:744c", "1002:74a1")):
            self.assertTrue(line.startswith(slot), line)
            self.assertIn(f"[{number}]", line)
            self.assertIn("[0300]", line)
        self.assertIn("Memory at 80000000000 (64-bit, prefetchable)", done.stdout)
        self.assertIn("Memory at fc000000 (32-bit, non-prefetchable)", done.stdout)

    @unittest.skipUnless(subprocess.run([PYTHON, "-c", "import tinygrad"], capture_output=True).returncode == 0,
                         "tinygrad is not installed: scripts/test --torch brings it")
    def test_tinygrad_starts_a_card(self):
        done = under("gfx1100", PYTHON, "-c", TINYGRAD, check="warn")
        self.assertEqual(done.returncode, 0, done.stderr)
        # Not alive before, 24560 MiB, both processors alive, tinygrad's mark.
        self.assertEqual(done.stdout, "False 24560 True True 0xa0000008\n", done.stderr)
        # It takes more registers than are emulated, and breaks no other rule.
        reports = [line for line in done.stderr.splitlines() if line.startswith("doorbell emu: ")]
        self.assertEqual([line for line in reports if "AMD-PCI-001" not in line], [])


if __name__ == "__main__":
    unittest.main(verbosity=2)
