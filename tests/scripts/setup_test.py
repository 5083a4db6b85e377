"""Tests of scripts/setup.sh on machines made of stubs: what it installs, what it leaves alone, and what it says."""
import os
import shutil
import stat
import subprocess
import sys
import tempfile
import unittest

SETUP = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "scripts", "setup.sh")
BASICS = ("basename", "bash", "cat", "cmp", "cp", "dirname", "env", "mkdir", "nproc", "paste")
LIBRARIES = ("fmt", "spdlog", "absl_flat_hash_map", "sqlite3", "zlib", "libarchive", "libcurl", "libusb-1.0",
             "CLI11", "nlohmann_json", "gtest_main", "benchmark", "libdrm_amdgpu", "OpenCL-Headers", "ompi-c")
HEADERS = ("catch2/catch.hpp", "glog/logging.h", "doctest/doctest.h", "linux/kfd_ioctl.h", "hsa/amd_hsa_queue.h")
COMMANDS = ("g++", "meson", "ninja", "python3", "ccache", "clang", "cmake", "doxygen", "rocminfo", "mpirun")

# Making a virtual environment makes its pip, which notes what it is asked for and fails in a world without PyPI.
PYTHON = """#!/bin/bash
[ "$1 $2" = '-m venv' ] || exit 0
mkdir -p "$3/bin"
printf '#!/bin/bash\\necho "$*" >> "$world/pip.log"\\n[ ! -e "$world/no-pypi" ]\\n' > "$3/bin/pip"
/bin/chmod +x "$3/bin/pip"
"""

# Installing a package makes what it brings appear. $world is the machine's folder.
APT_GET = """#!/bin/bash
echo "$*" >> "$world/apt.log"
for package in "$@"; do
  case $package in
    libfmt-dev) : > "$world/libraries/fmt" ;;
    pocl-opencl-icd) : > "$world/vendors/pocl.icd" ;;
    ocl-icd-libopencl1) : > "$world/vendors/libOpenCL.so.1" ;;
    mesa-vulkan-drivers) : > "$world/vendors/lvp_icd.json" ;;
    libvulkan1) : > "$world/vendors/libvulkan.so.1" ;;
    libamd-comgr*) : > "$world/vendors/libamd_comgr.so.2" ;;
    llvm-*-dev)
      version=${package#llvm-}
      version=${version%-dev}
      printf '#!/bin/bash\\necho "$world/llvm-%s"\\n' "$version" > "$world/bin/llvm-config-$version"
      /bin/chmod +x "$world/bin/llvm-config-$version"
      /bin/mkdir -p "$world/llvm-$version/include/llvm/Config" "$world/llvm-$version/lib"
      : > "$world/llvm-$version/include/llvm/Config/llvm-config.h"
      : > "$world/llvm-$version/lib/libLLVM-$version.so" ;;
  esac
done
"""


class Machine:
    """A folder of stubs that PATH is set to."""

    def __init__(self, root, user=0, offered=("llvm-22-dev", "llvm-19-dev")):
        self.root = root
        for folder in ("bin", "libraries", "vendors"):
            os.mkdir(os.path.join(root, folder))
        for name in ("mesa.icd", "libOpenCL.so.1", "libamd_comgr.so.2", "lvp_icd.json", "libvulkan.so.1"):
            open(os.path.join(root, "vendors", name), "w", encoding="utf-8").close()
        for name in BASICS:
            os.symlink(shutil.which(name), os.path.join(root, "bin", name))
        for name in COMMANDS:
            self.command(name, "#!/bin/bash\n")
        for name in LIBRARIES:
            open(os.path.join(root, "libraries", name), "w", encoding="utf-8").close()
        for name in HEADERS:
            path = os.path.join(root, "include", name)
            os.makedirs(os.path.dirname(path), exist_ok=True)
            open(path, "w", encoding="utf-8").close()
        self.command("python3", PYTHON)
        self.command("pkg-config", '#!/bin/bash\n[ -e "$world/libraries/$2" ]\n')
        self.command("apt-get", APT_GET)
        self.command("apt-cache", f'#!/bin/bash\n[[ " {" ".join(offered)} " == *" $2 "* ]]\n')
        self.command("id", f"#!/bin/bash\necho {user}\n")

    def command(self, name, text):
        path = os.path.join(self.root, "bin", name)
        with open(path, "w", encoding="utf-8") as file:
            file.write(text)
        os.chmod(path, os.stat(path).st_mode | stat.S_IXUSR)

    def install_llvm(self, version):
        subprocess.run([os.path.join(self.root, "bin", "apt-get"), f"llvm-{version}-dev"], check=True,
                       env={"world": self.root})
        os.remove(os.path.join(self.root, "apt.log"))

    def lacks(self, *libraries):
        for name in libraries:
            os.remove(os.path.join(self.root, "libraries", name))

    def setup(self, then=":"):
        """(exit status, what it said, the arguments for meson, the calls of apt-get)."""
        script = f'set -euo pipefail; . "{SETUP}"; {then}; echo "args:${{setup_args[*]-}}"'
        done = subprocess.run([os.path.join(self.root, "bin", "bash"), "-c", script], text=True, check=False,
                              capture_output=True, env={"PATH": os.path.join(self.root, "bin"), "world": self.root,
                                                   "DOORBELL_PYTHON_ENV": os.path.join(self.root, "venv"),
                                                   "OCL_ICD_VENDORS": os.path.join(self.root, "vendors"),
                                                   "INCLUDE_FOLDER": os.path.join(self.root, "include"),
                                                   "OPENCL_FOLDER": os.path.join(self.root, "vendors"),
                                                   "VULKAN_ICD_FOLDER": os.path.join(self.root, "vendors"),
                                                   "VULKAN_FOLDER": os.path.join(self.root, "vendors"),
                                                   "COMGR_FOLDER": os.path.join(self.root, "vendors")})
        log = os.path.join(self.root, "apt.log")
        calls = []
        if os.path.exists(log):
            with open(log, encoding="utf-8") as file:
                calls = file.read().splitlines()
        arguments = done.stdout.partition("args:")[2].strip()
        return done.returncode, done.stderr, arguments, calls


class SetupTest(unittest.TestCase):
    def machine(self, **settings):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        return Machine(folder.name, **settings)

    def test_complete_machine_is_left_alone(self):
        machine = self.machine()
        machine.install_llvm(22)
        self.assertEqual(machine.setup(), (0, "", "", []))

    def test_older_llvm_will_do(self):
        machine = self.machine()
        machine.install_llvm(19)
        self.assertEqual(machine.setup(), (0, "", "", []))

    def test_missing_library_is_installed_and_explained(self):
        machine = self.machine()
        machine.install_llvm(22)
        machine.lacks("fmt")
        status, said, _, calls = machine.setup()
        self.assertEqual(status, 0)
        self.assertIn("installing libfmt-dev: text formatting", said)
        self.assertEqual([call.split()[0] for call in calls], ["update", "install"])
        self.assertTrue(calls[1].endswith(" libfmt-dev"), calls)

    def test_missing_header_is_installed_and_explained(self):
        machine = self.machine()
        machine.install_llvm(22)
        os.remove(os.path.join(machine.root, "include", "hsa", "amd_hsa_queue.h"))
        status, said, _, calls = machine.setup()
        self.assertEqual(status, 0)
        self.assertIn("installing libhsa-runtime-dev: what AMD's runtime shares with its GPUs, for tests", said)
        self.assertTrue(calls[1].endswith(" libhsa-runtime-dev"), calls)

    def test_opencl_device_is_installed_where_there_is_none(self):
        for lacking in ("mesa.icd", "libOpenCL.so.1"):
            machine = self.machine()
            machine.install_llvm(22)
            os.remove(os.path.join(machine.root, "vendors", lacking))
            status, said, _, calls = machine.setup()
            self.assertEqual(status, 0)
            self.assertIn("installing pocl-opencl-icd, ocl-icd-libopencl1: an OpenCL device for the tests", said)
            self.assertTrue(calls[1].endswith(" pocl-opencl-icd ocl-icd-libopencl1"), calls)
            self.assertEqual(machine.setup()[1], "")

    def test_lavapipe_is_installed_where_there_is_none(self):
        for lacking in ("lvp_icd.json", "libvulkan.so.1"):
            machine = self.machine()
            machine.install_llvm(22)
            os.remove(os.path.join(machine.root, "vendors", lacking))
            status, said, _, calls = machine.setup()
            self.assertEqual(status, 0)
            self.assertIn("installing mesa-vulkan-drivers, libvulkan1: a WebGPU adapter for the tests", said)
            self.assertTrue(calls[1].endswith(" mesa-vulkan-drivers libvulkan1"), calls)
            self.assertEqual(machine.setup()[1], "")

    def test_comgr_is_installed_where_it_is_offered(self):
        machine = self.machine(offered=("libamd-comgr2",))
        machine.install_llvm(22)
        os.remove(os.path.join(machine.root, "vendors", "libamd_comgr.so.2"))
        status, said, _, calls = machine.setup()
        self.assertEqual(status, 0)
        self.assertIn("installing libamd-comgr2: the HIP renderer of AMD", said)
        self.assertTrue(calls[1].endswith(" libamd-comgr2"), calls)
        self.assertEqual(machine.setup()[1], "")

    def test_newest_llvm_that_is_offered(self):
        for offered, package in ((("llvm-19-dev", "llvm-22-dev", "llvm-14-dev"), "llvm-22-dev"),
                                 (("llvm-19-dev", "llvm-20-dev"), "llvm-20-dev"), (("llvm-19-dev",), "llvm-19-dev")):
            machine = self.machine(offered=offered)
            status, said, arguments, calls = machine.setup()
            self.assertEqual((status, arguments), (0, ""))
            self.assertIn(f"installing {package}", said)
            self.assertEqual(len(calls), 2, calls)
            self.assertTrue(calls[1].endswith(" " + package), calls)

    def test_without_llvm_it_builds_without(self):
        status, said, arguments, _ = self.machine(offered=("llvm-14-dev",)).setup()
        self.assertEqual((status, arguments), (0, "-Dllvm=disabled"))
        self.assertIn("-Dllvm=disabled", said)

    def test_packages_of_python_are_installed_once(self):
        machine = self.machine()
        machine.install_llvm(22)
        lists = os.path.join(machine.root, "first.txt"), os.path.join(machine.root, "second.txt")
        for path in lists:
            with open(path, "w", encoding="utf-8") as file:
                file.write("something\n")
        status, said, arguments, _ = machine.setup(f"setup_python {lists[0]} {lists[1]}")
        self.assertEqual(status, 0, said)
        self.assertIn("installing the packages of first.txt second.txt", said)
        python = os.path.join(machine.root, "venv", "bin", "python")
        self.assertEqual(arguments, f"-Dpython_program={python} -Dpython=enabled")
        _, said, again, _ = machine.setup(f"setup_python {lists[0]} {lists[1]}")
        self.assertEqual((said, again), ("", arguments))
        with open(lists[1], "a", encoding="utf-8") as file:
            file.write("more\n")
        machine.setup(f"setup_python {lists[0]} {lists[1]}")
        with open(os.path.join(machine.root, "pip.log"), encoding="utf-8") as file:
            self.assertEqual(file.read().count(f"-r {lists[0]} -r {lists[1]}"), 2)

    def test_without_pypi_it_builds_without_the_python_module(self):
        machine = self.machine()
        machine.install_llvm(22)
        path = os.path.join(machine.root, "list.txt")
        for name in ("list.txt", "no-pypi"):
            open(os.path.join(machine.root, name), "w", encoding="utf-8").close()
        status, said, arguments, _ = machine.setup(f"setup_python {path} || echo failed >&2")
        self.assertEqual((status, arguments), (0, ""))
        self.assertIn("list.txt cannot be had from PyPI", said)
        self.assertIn("failed", said)

    def test_user_without_sudo_is_told(self):
        machine = self.machine(user=1000)
        machine.install_llvm(22)
        machine.lacks("fmt")
        status, said, _, calls = machine.setup()
        self.assertNotEqual(status, 0)
        self.assertIn("libfmt-dev", said)
        self.assertIn("no sudo", said)
        self.assertEqual(calls, [])

    def test_sudo_is_used(self):
        machine = self.machine(user=1000)
        machine.install_llvm(22)
        machine.lacks("fmt")
        machine.command("sudo", '#!/bin/bash\necho "sudo $*" >> "$world/apt.log"\nexec "$@"\n')
        status, _, _, calls = machine.setup()
        self.assertEqual(status, 0)
        self.assertEqual([call.split()[0] for call in calls], ["sudo", "update", "sudo", "install"])


if __name__ == "__main__":
    if sys.platform != "linux":
        sys.exit(77)  # meson's word for skipped: apt is Linux's
    unittest.main()
