"""Runs `doorbell emu` as a user does: a client of the kernel's interface in Python, and Debian's rocminfo.

usage: emu_test.py PATH_OF_DOORBELL
"""

import json
import os
import shutil
import sys
import tempfile
import unittest

from kfd_client import CLIENT, COMPUTE, QUEUE, TOOL, EmulatedCase

# S_BRANCH -1: to itself.
ENDLESS = COMPUTE + """
code[0:4] = struct.pack('I', 0xbfa0ffff)
submit(dispatch)
wait(int(sys.argv[1]))
"""

# Stops of a queue without a rule, and their reports: behind COMPUTE.
STOPS = {
    "submit([0xc000fe00, 0])": r"queue 1 \(PM4\), ring word 0: the compute engine does not execute packet 0xfe \(",
    "submit([0x00010000, 1, 2])": r"queue 1 \(PM4\), ring word 0: no packet begins with 0x00010000, a header of type 0",
    "submit([0xc0012d00, 3, 2])": r"queue 1 \(PM4\), ring word 0: the compute engine does not execute packet 0x2d \(",
    "submit([0xffff1000, 0xc0017600, 0x400, 1])":
        r"queue 1 \(PM4\), ring word 1: SET_SH_REG of 1 registers at 0x3000, beyond 0x3000",
    "copy_engine([0, 0x7f])": r"queue 0 \(SDMA\), ring byte 0x4: the copy engine does not execute packet 0x0000007f",
    "code[0:4] = struct.pack('I', 0xbfffffff); submit(dispatch)":
        r"queue 1 \(PM4\), ring word \d+: the kernel at 0x[0-9a-f]+, group 0,0,0, wave 0, pc 0x[0-9a-f]+, lane \d+: "
        "illegal instruction",
}


class Emu(EmulatedCase):
    def test_a_client_finds_opens_and_uses_the_gpu(self):
        done = self.python(CLIENT, "--gpu", "gfx1100,gfx942")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.splitlines(), [
            "version 1 17", "nodes 0 1 2", "render nodes renderD128 renderD129", "device True True",
            "link /sys/devices/virtual/kfd/kfd/topology", "memory b'bytes'"])

    def test_partitions_are_gpus_of_their_own(self):
        done = self.python(CLIENT + "import glob\n"
                           "print([os.path.basename(os.path.realpath(f'/sys/class/drm/renderD{n}/device'))"
                           " for n in (128, 129, 135, 136)])\n"
                           "print(open('/sys/class/drm/renderD128/device/current_compute_partition').read(), end='')",
                           "--gpu", "gfx942:CPX,gfx1100")
        self.assertEqual(done.returncode, 0, done.stderr)
        lines = done.stdout.splitlines()
        self.assertEqual(lines[1], "nodes 0 1 2 3 4 5 6 7 8 9")
        self.assertEqual(lines[-2], "['0000:03:00.0', 'amdgpu_xcp_0', 'amdgpu_xcp_6', '0000:04:00.0']")
        self.assertEqual(lines[-1], "CPX")

    def test_kernels_that_never_end_hang_where_somebody_watches(self):
        for options, milliseconds, result in ((("--hang-after", "100000"), "20000", 0), ((), "300", 1)):
            done = self.emu(*options, "--", sys.executable, "-c", CLIENT + QUEUE + ENDLESS, milliseconds)
            self.assertEqual(done.returncode, 1 - result, "a queue that was reset has failed its program")
            self.assertIn(f"waited {result}", done.stdout)
            self.assertEqual("AMD-LIVE-001: " in done.stderr, result == 0, done.stderr)

    def test_a_queue_that_stops_is_told_once_with_its_reason(self):
        for levels in ("error", "warn", "off"):
            for stop, reason in STOPS.items() if levels == "error" else list(STOPS.items())[:1]:
                done = self.python(CLIENT + QUEUE + COMPUTE + stop + "\nwait(20000)", "--check", levels)
                self.assertIn("waited 0", done.stdout, stop)
                told = done.stderr.splitlines()
                self.assertEqual(len(told), 2, done.stderr)
                self.assertRegex(told[0], "^doorbell emu: error AMD-QUE-009: GPU 0, " + reason)
                self.assertTrue(told[0].endswith("; the queue has stopped"), told[0])
                self.assertIn("doorbell: 1 broken rule in ", told[1])
                self.assertEqual(done.returncode, 1, done.stderr)

    def test_a_stop_by_a_rule_is_told_once_and_the_programs_status_wins(self):
        # DISPATCH_DIRECT without COMPUTE_SHADER_EN breaks a rule of its own.
        program = CLIENT + QUEUE + COMPUTE + "submit(dispatch[:-1] + [0])\nwait(20000)\nsys.exit(3)"
        done = self.python(program, "--check", "error")
        self.assertEqual(done.returncode, 3, done.stderr)
        self.assertIn("error AMD-DISP-008: ", done.stderr)
        self.assertNotIn("AMD-QUE-009", done.stderr)
        done = self.python(CLIENT + QUEUE + COMPUTE + "submit([0xc000fe00, 0])\nwait(20000)", "--check",
                           "error,AMD-QUE-009=warn")
        self.assertEqual(done.returncode, 0, "the program expects it")
        self.assertIn("warn AMD-QUE-009: ", done.stderr)

    def test_the_rest_of_the_machine_is_the_hosts(self):
        done = self.python("print(open('/proc/self/comm').read(), end=''); print(open('/etc/hostname').read())\n"
                           "import os; print(os.path.exists('/sys/devices/system/cpu'))")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("python", done.stdout)
        self.assertIn("True", done.stdout)

    def test_broken_rules_are_told_and_counted(self):
        broken = CLIENT + "call(kfd, 0x17, 'Q', memory[2] + 5, direction=1)\n"
        done = self.python("import sys\ntry:\n exec(sys.argv[1])\nexcept OSError as e: print(e.errno)", "--check",
                           "error")
        self.assertNotEqual(done.returncode, 0)
        program = "try:\n" + "".join(f"  {line}\n" for line in broken.splitlines()) + "except OSError as e:\n  print(e)"
        done = self.python(program, "--check", "error")
        self.assertIn("[Errno 22]", done.stdout)
        self.assertIn("error AMD-VM-002: FREE_MEMORY_OF_GPU: handle", done.stderr)
        self.assertIn("1 broken rule in ", done.stderr)
        self.assertEqual(done.returncode, 1, "the client ended well, and the rule is broken")
        done = self.python(program, "--check", "warn")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("warn AMD-VM-002", done.stderr)
        done = self.python(program, "--check", "off")
        self.assertEqual(done.stderr, "")

    def test_the_trace_has_a_line_per_call(self):
        for name in ("trace.txt", "trace.jsonl"):
            self.assertEqual(self.python(CLIENT, "--trace", name).returncode, 0)
        with open(os.path.join(self.folder.name, "trace.jsonl"), encoding="utf-8") as file:
            lines = [json.loads(line) for line in file]
        self.assertEqual([line["text"].split()[0] for line in lines],
                         ["GET_VERSION", "ACQUIRE_VM", "ALLOC_MEMORY_OF_GPU"])
        self.assertEqual(lines[2]["fields"]["size"], 0x4000)
        with open(os.path.join(self.folder.name, "trace.txt"), encoding="utf-8") as file:
            self.assertEqual(len(file.readlines()), 3)

    def trace(self, program, *options):
        """The events of a trace for Perfetto, but for the names of tracks."""
        done = self.python(program, "--trace", "trace.json", *options)
        self.assertEqual(done.returncode, 0, done.stderr)
        with open(os.path.join(self.folder.name, "trace.json"), encoding="utf-8") as file:
            events = json.load(file)
        return [event for event in events if event["ph"] != "M"], [event for event in events if event["ph"] == "M"]

    def test_the_trace_for_perfetto_is_one_list_of_events(self):
        program = CLIENT + QUEUE + "view[0:4] = b'abcd'\nshow(memory[2])\nprint(copies(va, 1), to[0:4])\n"
        events, tracks = self.trace(program)
        names = {track["tid"]: track["args"]["name"] for track in tracks}
        for event in events:
            self.assertEqual(set(event) - {"dur", "s"}, {"name", "cat", "pid", "tid", "ts", "ph", "args"})
            self.assertIn(event["tid"], names)
            self.assertEqual(event["ph"], "X" if event["cat"] == "ioctl" else "i")
        self.assertLess(events[0]["ts"], events[-1]["ts"])
        packets = [event for event in events if event["cat"] == "packet"]
        self.assertEqual([(event["name"], names[event["tid"]]) for event in packets],
                         [("COPY", "queue 0"), ("FENCE", "queue 0")])
        self.assertEqual(packets[1]["args"]["fields"]["fields"]["data"], 1)
        self.assertEqual(self.trace("pass"), ([], []), "of a program that opens no GPU")

    def test_a_trace_has_the_lines_that_are_asked_for(self):
        program = CLIENT + QUEUE + "view[0:4] = b'abcd'\nshow(memory[2])\nprint(copies(va, 1), to[0:4])\n"
        for only, names in (("packet", {"COPY", "FENCE"}), ("packet:fen*", {"FENCE"}), ("packet:COPY,queue:1", set()),
                            ("ioctl:create_queue,packet:COPY", {"CREATE_QUEUE", "COPY"}),
                            ("ioctl:ALLOC*", {"ALLOC_MEMORY_OF_GPU"})):
            self.assertEqual({event["name"] for event in self.trace(program, "--trace-only", only)[0]}, names, only)
        done = self.python(program, "--trace-only", "pakcet")
        self.assertEqual(done.returncode, 1)
        self.assertIn('no line of a trace is of kind "pakcet"; did you mean packet?; there are check, dispatch',
                      done.stderr)
        self.assertIn('"x" is not the number of a queue', self.python(program, "--trace-only", "queue:x").stderr)

    def test_a_trace_ends_at_its_limit(self):
        program = CLIENT + "for i in range(2000): call(kfd, 1, 'II', 0, 0, direction=2)\n"
        for name in ("trace.txt", "trace.jsonl", "trace.json"):
            done = self.python(program, "--trace", name, "--trace-limit", "20kb")
            self.assertEqual(done.returncode, 0, done.stderr)
            with open(os.path.join(self.folder.name, name), encoding="utf-8") as file:
                text = file.read()
            self.assertLess(len(text), 20700)
            self.assertGreater(len(text), 19000)
            self.assertEqual(text.count("the trace ends here, at its limit of 20480 bytes"), 1)
            if name == "trace.json":
                json.loads(text)

    def test_what_programs_ask_of_paths_is_the_machines(self):
        # The C library's checked forms, as programs that are built with fortification import them.
        done = self.python(
            "import ctypes, os, stat\n"
            "libc = ctypes.CDLL(None)\n"
            "LINK = b'/sys/class/kfd/kfd/topology'\n"
            "for name, more in (('__realpath_chk', (4096,)), ('realpath', ())):\n"
            "  room = ctypes.create_string_buffer(4096)\n"
            "  getattr(libc, name).restype = ctypes.c_char_p\n"
            "  print(name, getattr(libc, name)(LINK, room, *more).decode())\n"
            "libc.canonicalize_file_name.restype = ctypes.c_char_p\n"
            "print('canonicalize', libc.canonicalize_file_name(LINK).decode())\n"
            "LINK = b'/sys/class/kfd/kfd'\n"
            "for name, at, more in (('readlink', (), ()), ('__readlink_chk', (), (4096,)),\n"
            "                       ('__readlinkat_chk', (-100,), (4096,))):\n"
            "  room = ctypes.create_string_buffer(4096)\n"
            "  length = getattr(libc, name)(*at, LINK, room, 4095, *more)\n"
            "  print(name, room.raw[:length].decode())\n"
            "def statx(folder, path, flags):\n"
            "  room = ctypes.create_string_buffer(256)\n"
            "  assert libc.statx(folder, path, flags, 0x7ff, room) == 0\n"
            "  mode = int.from_bytes(room[28:30], 'little')\n"
            "  major, minor = (int.from_bytes(room[i:i + 4], 'little') for i in (128, 132))\n"
            "  return stat.S_ISCHR(mode), major, minor\n"
            "drm = os.open('/dev/dri/renderD128', os.O_RDWR)\n"
            "print('statx', *statx(-100, b'/dev/dri/renderD128', 0))\n"
            "print('statx of a descriptor', *statx(drm, b'', 0x1000))\n"
            "print('statx of a file', statx(-100, b'/sys/class/kfd/kfd/topology/nodes/1/gpu_id', 0)[0])\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        topology = "/sys/devices/virtual/kfd/kfd/topology"
        self.assertEqual(done.stdout.splitlines()[:3],
                         ["__realpath_chk " + topology, "realpath " + topology, "canonicalize " + topology])
        links = done.stdout.splitlines()[3:6]
        self.assertEqual([link.split()[0] for link in links], ["readlink", "__readlink_chk", "__readlinkat_chk"])
        self.assertEqual({link.split()[1] for link in links}, {"/sys/devices/virtual/kfd/kfd"})
        self.assertEqual(done.stdout.splitlines()[6:],
                         ["statx True 226 128", "statx of a descriptor True 226 128", "statx of a file False"])

    def test_user_memory_that_goes_is_a_fault_not_a_crash(self):
        done = self.python(
            CLIENT + QUEUE + "own = pages(0x2000)\n"
            "unmap(own, 0x2000)\n"
            "try: userptr(own, 0x2000)\n"
            "except OSError as e: print('refused', e.errno)\n"
            "own = pages(0x2000)\n"
            "ctypes.memset(own, 0x5a, 0x2000)\n"
            "show(userptr(own, 0x2000))\n"
            "print('before', copies(own, 1), to[0:2])\n"
            "unmap(own, 0x2000)\n"
            "print('after', copies(own, 2))\n")
        self.assertEqual(done.returncode, 1, "the fault has stopped the queue")
        self.assertEqual(done.stdout.splitlines()[-3:], ["refused 14", "before True b'ZZ'", "after False"])
        self.assertIn("warn AMD-VM-001", done.stderr)
        self.assertIn("error AMD-QUE-009", done.stderr)
        self.assertIn("userptr buffer", done.stderr)

    def test_only_buffers_and_doorbells_are_mapped(self):
        done = self.python(
            CLIENT + QUEUE + "import errno, tempfile\n"
            "def why(node, size, offset, flags=mmap.MAP_SHARED):\n"
            "  try: mmap.mmap(node, size, flags, offset=offset)\n"
            "  except OSError as e: return errno.errorcode[e.errno]\n"
            "  return 'mapped'\n"
            "print(why(drm, 0x1000, 0x1000000000), why(drm, size, memory[3]), why(drm, size * 2, memory[3]),\n"
            "      why(drm, 0x1000, memory[3] + 0x1000), why(drm, size, memory[3], mmap.MAP_PRIVATE))\n"
            "registers = call(kfd, 0x16, 'QQQQII', 0x7e0000800000, 0x1000, 0, 0, gpu, 0x80000010)[3]\n"
            "print(why(kfd, 0x1000, registers), why(kfd, 0x2000, registers))\n"
            "print(why(kfd, 0x1000, 0), why(kfd, 0x2000, 0x100000), why(kfd, 0x1000, queue[3] & ~0x1fff),\n"
            "      why(kfd, 0x2000, queue[3] & ~0x1fff))\n"
            "with tempfile.TemporaryFile() as file:\n"
            "  file.write(b'x' * 4096); file.flush()\n"
            "  print(why(file.fileno(), 4096, 0))\n", "--check", "error")
        self.assertEqual(done.stdout.splitlines()[-4:], ["EINVAL mapped EINVAL EINVAL EINVAL", "mapped EINVAL",
                                                         "EINVAL ENODEV EINVAL mapped", "mapped"], done.stderr)
        self.assertEqual(done.returncode, 1)
        self.assertIn("error AMD-VM-008: mmap of 0x1000 bytes of the render node of GPU 0 at 0x1000000000: "
                      "no buffer of that size begins there", done.stderr)
        self.assertEqual(done.stderr.count("AMD-VM-008"), 8, done.stderr)

    def test_a_submission_is_traced_also_on_the_weakest_hardware(self):
        program = CLIENT + QUEUE + "view[0:4] = b'abcd'\nshow(memory[2])\nprint(copies(va, 1), to[0:4])\n"
        for options in ((), ("--adversarial", "--seed", "7")):
            done = self.python(program, "--check", "error", "--trace", "trace.jsonl", *options)
            self.assertEqual(done.returncode, 0, done.stderr)
            self.assertEqual(done.stdout.splitlines()[-1], "True b'abcd'")
            with open(os.path.join(self.folder.name, "trace.jsonl"), encoding="utf-8") as file:
                lines = [json.loads(line) for line in file]
            packets = [line for line in lines if line["kind"] == "packet"]
            self.assertEqual([line["text"].split()[0] for line in packets], ["COPY", "FENCE"], packets)
            self.assertEqual([line["queue"] for line in packets], [0, 0])
            self.assertEqual(packets[1]["fields"]["fields"]["data"], 1)

    def test_a_forked_child_opens_gpus_of_its_own(self):
        done = self.python(CLIENT + "import errno\n"
                           "def version(node): return call(node, 1, 'II', 0, 0, direction=2)\n"
                           "def refused(node):\n"
                           "  try: version(node)\n"
                           "  except OSError as e: return e.errno == errno.EBADF\n"
                           "def child():\n"
                           "  own = os.open('/dev/kfd', os.O_RDWR)\n"
                           "  print(refused(kfd), version(own), os.fstat(kfd).st_mode >> 12 == 2, flush=True)\n"
                           "  if os.fork() == 0:\n"
                           "    print(refused(kfd), refused(own), flush=True)\n"
                           "    print(version(os.open('/dev/kfd', os.O_RDWR)), flush=True)\n"
                           "    os._exit(0)\n"
                           "  os.wait(); print(version(own), flush=True)\n"
                           "if os.fork() == 0: child(); os._exit(0)\n"
                           "os.wait(); print('parent', version(kfd))\n")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertEqual(done.stdout.splitlines()[-5:],
                         ["True (1, 17) True", "True True", "(1, 17)", "(1, 17)", "parent (1, 17)"])

    def test_programs_that_are_started_see_the_machine_too(self):
        done = self.emu("--gpu", "gfx1030", "--", "sh", "-c", "cat /sys/class/kfd/kfd/topology/nodes/1/properties; "
                        "grep -c ^amdgpu /proc/modules")
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("gfx_target_version 100300", done.stdout)
        self.assertEqual(done.stdout.splitlines()[-1], "1")

    def test_registers_of_a_kernel_that_stops_are_written(self):
        # s_mov_b32 s5, 0x12345678; v_mov_b32_e32 v3, 0x55; what no instruction is. [RDNA3 ISA, SOP1, VOP1]
        words = "0xbe8500ff, 0x12345678, 0x7e0602ff, 0x55, 0xbfffffff"
        done = self.python(CLIENT + QUEUE + COMPUTE + f"code[0:20] = struct.pack('5I', {words})\nsubmit(dispatch)\n"
                           "wait(20000)", "--dump-waves", "waves")
        self.assertEqual(done.returncode, 1, done.stderr)
        with open(os.path.join(self.folder.name, "waves"), encoding="utf-8") as file:
            lines = file.read().splitlines()
        self.assertRegex(lines[0], "illegal instruction")
        self.assertRegex(lines[1], "^group 0,0,0, wave 0, ready$")
        self.assertRegex(lines[2], r"^  pc 0x[0-9a-f]+10, exec 0xffffffff, vcc 0x0, scc 0, ")
        self.assertRegex(lines[3], r"^  s0    ([0-9a-f]{8} ){5}12345678 ")
        self.assertIn("  v3    " + " ".join(["00000055"] * 8), lines)

    def test_what_a_program_leaves_is_told_when_asked(self):
        left = CLIENT + QUEUE + "for handle in (memory[2],): call(kfd, 0x17, 'Q', handle, direction=1)\n"
        self.assertEqual(self.python(left).stderr, "")
        done = self.python(left, "--leaks")
        self.assertEqual(done.returncode, 0, done.stderr)
        told = done.stderr.splitlines()
        self.assertEqual(told[0], "doorbell emu: warn AMD-QUE-005: queue 0 (SDMA) of GPU 0 is never destroyed")
        self.assertEqual(len(told), 4, done.stderr)
        for line in told[1:]:
            self.assertRegex(line, r"AMD-QUE-005: GTT buffer \[0x\w+, 0x\w+\) of GPU 0, allocated by ioctl \d+, "
                             "is never freed")
        done = self.python(left, "--leaks", "--check", "error")
        self.assertEqual(done.returncode, 1)
        self.assertIn("doorbell: 4 broken rules in ", done.stderr)

    def test_rules_are_listed(self):
        lines = self.emu("--rules").stdout.splitlines()
        self.assertGreater(len(lines), 60)
        self.assertTrue(any(line.startswith("AMD-DB-005     always   never") for line in lines), "doorbells of nobody")
        self.assertTrue(all("[" in line for line in lines))

    def test_mistakes_are_named(self):
        self.assertIn("no program", self.emu().stderr)
        done = self.emu("--gpu", "gfx803", "--", "true")
        self.assertEqual(done.returncode, 1)
        self.assertIn("gfx803", done.stderr)
        self.assertIn("gfx1030, gfx1100", done.stderr)
        for gpus in ("", ",", "gfx1100,,gfx942"):
            done = self.emu("--gpu", gpus, "--", "true")
            self.assertEqual(done.returncode, 1, gpus)
            self.assertIn('has no name; expected a list as in "gfx1100,gfx1100"', done.stderr)
        for seed in ("abc", "-1", "18446744073709551616"):
            done = self.emu("--seed=" + seed, "--", "true")
            self.assertEqual(done.returncode, 1, seed)
            self.assertIn(f'seed "{seed}" is n', done.stderr)
        self.assertEqual(self.emu("--seed", "5", "--", "true").returncode, 0)
        done = self.emu("--hang-after=soon", "--", "true")
        self.assertEqual(done.returncode, 1)
        self.assertIn('--hang-after "soon" is no number', done.stderr)
        for gpu, why in (("gfx942:TPX", "compute partitions of a gfx942 are SPX, DPX, QPX, CPX"),
                         ("gfx942:CPX:9", "a number of partitions is 1 to 8"),
                         ("gfx1100:CPX", "a gfx1100 has no compute partitions")):
            done = self.emu("--gpu", gpu, "--", "true")
            self.assertEqual(done.returncode, 1, gpu)
            self.assertIn(why, done.stderr)
        done = self.emu("--check", "loud", "--", "true")
        self.assertIn("loud", done.stderr)
        self.assertEqual(self.emu("--", "sh", "-c", "exit 7").returncode, 7)
        with tempfile.TemporaryDirectory() as folder:
            for path, why in ((folder, "Is a directory"), (folder + "/no/lines", "No such file or directory")):
                done = self.emu("--trace", path, "--", "true")
                self.assertEqual(done.returncode, 1)
                self.assertIn(f"open {path}: {why}", done.stderr)
            self.assertTrue(os.path.isdir(folder))

    @unittest.skipUnless(shutil.which("rocminfo"), "no rocminfo here")
    def test_rocminfo_lists_the_gpu(self):
        done = self.emu("--gpu", "gfx1030", "--check", "error", "--", "rocminfo")
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)
        self.assertIn("amdgcn-amd-amdhsa--gfx1030", done.stdout)
        self.assertIn("Compute Unit:            80", done.stdout)


if __name__ == "__main__":
    unittest.main()
