"""What drivers/nv/hw states against the sources of NVIDIA's kernel modules, where a distribution's package of them is
installed (Ubuntu's nvidia-kernel-source-580-open and others); they have part of it. Where there is none, and for the
rest: GOLDENS."""
import glob
import os
import re

from compare import read

# <folder>/nvidia-uvm/uvm_ioctl.h
FOLDERS = ["/usr/src/nvidia-*"]
INCLUDES = ["nvtypes.h", "nv-ioctl.h", "nv-ioctl-numbers.h", "uvm_ioctl.h", "uvm_linux_ioctl.h",
            "nvstatus.h"]
# Of the releases that rm_layouts.txt has, the newest that is not newer.
RELEASES = (610, 590, 580, 575, 570)
# Numbers that have moved, and since which release they are what status.def says.
MOVED = {"NV_ERR_DMA_XFER_FAILED": 595}
RENAMED = {("nv_ioctl_card_info_t", name): f"pci_info.{name}"
           for name in ("domain", "bus", "slot", "function", "vendor_id", "device_id")}

GOLDENS = {
    "drivers/nv/hw/class_id.h": "methods_test.cc, qmd_test.cc; RM lists the classes that it has (doorbell nv probe)",
    "drivers/nv/hw/compute/methods.h": "methods_test.cc, commands_test.cc",
    "drivers/nv/hw/copy/methods.h": "methods_test.cc, commands_test.cc",
    "drivers/nv/hw/host/gp_entry.h": "methods_test.cc",
    "drivers/nv/hw/host/method_header.h": "methods_test.cc",
    "drivers/nv/hw/host/methods.h": "methods_test.cc, commands_test.cc",
    "drivers/nv/hw/host/user_control.h": "methods_test.cc",
    "drivers/nv/hw/isa/chip.h": "tests/codegen",
    "drivers/nv/hw/isa/cubin.h": "cubin_test.cc",
    "drivers/nv/hw/methods.h": "methods_test.cc",
    "drivers/nv/hw/qmd/qmd.h": "qmd_test.cc",
    "drivers/nv/hw/rm/abi.h": "rm_test.cc",
    "drivers/nv/hw/rm/control.h": "rm_test.cc",
    "drivers/nv/hw/rm/escape.h": "rm_test.cc",
    "drivers/nv/hw/rm/notification.h": "rm_test.cc",
    "drivers/nv/hw/rm/object.h": "rm_test.cc",
    "drivers/nv/hw/rm/other_calls.h": "rm_test.cc",
    "drivers/nv/hw/rm/status.h": "rm_test.cc",
    "drivers/nv/hw/stream/stream.h": "Doorbell's own",
    "drivers/nv/hw/uvm/ioctl.h": "rm_test.cc",
}


class Sources:
    """Sources of the kernel modules that are installed; `release` is 0 where none of a release that is compared is."""

    def __init__(self, folders):
        found = [(self.release_of(folder), folder) for pattern in folders for folder in glob.glob(pattern)
                 if os.path.exists(f"{folder}/nvidia-uvm/uvm_ioctl.h")]
        self.seen = sorted(found)
        self.release, self.folder = max([one for one in found if one[0] >= RELEASES[-1]], default=(0, None))

    @staticmethod
    def release_of(folder):
        with open(f"{folder}/Kbuild", encoding="utf-8") as file:
            version = re.search(r'NV_VERSION_STRING=\\"(\d+)\.', file.read())
        return int(version.group(1)) if version else 0

    def flags(self):
        return [f"-I{self.folder}/{name}" for name in ("common/inc", "nvidia-uvm")]

    def program(self, words):
        """Assertions of what the headers (whose words are given) have, and the names of what they lack."""
        lines, lacking = [f"#include <{name}>" for name in ["cstddef", *INCLUDES]], []
        abi = f"R{next(one for one in RELEASES if one <= self.release)}"
        for line in read("tests/drivers/nv/hw/data/rm_layouts.txt").splitlines():
            release, name, size, *fields = line.split()
            if release != abi:
                continue
            if name not in words:
                lacking.append(name)
                continue
            lines.append(f'static_assert(sizeof({name}) == {size}, "size of {name}");')
            # Where UUIDs lie in a struct follows from the fields around them, of which each struct has some.
            for field, offset in re.findall(r"(\w+)@(\d+):", " ".join(fields)):
                if field != "uuid":
                    theirs = RENAMED.get((name, field), field)
                    lines.append(f'static_assert(offsetof({name}, {theirs}) == {offset}, "{name}.{field}");')
        numbers = dict(line.split() for line in read("tests/drivers/nv/hw/data/rm_numbers.txt").splitlines())
        statuses = re.findall(r', (0x\w+), "(\w+)', read("drivers/nv/hw/rm/status.def"))
        for name, value in {**numbers, **{name: value for value, name in statuses}}.items():
            if name in words and self.release >= MOVED.get(name, 0):
                lines.append(f'static_assert({name} == {value}, "{name}");')
            else:
                lacking.append(name)
        return "\n".join(lines) + "\n", lacking
