#!/usr/bin/env python3
"""Runs conformance and the benchmarks on the GPUs of this machine, and writes one table and one JSON.

`scripts/hw pack` puts this file beside the program as `run`. Needs Python 3.8 and nothing else; compares with PyTorch
where it is installed. Ends within the minutes that it is given: what does not fit is named in the table as not run.
"""

import argparse
import datetime
import glob
import json
import os
import platform
import re
import shutil
import subprocess
import sys
import tempfile
import time

PARTS = ("probe", "conformance", "silicon", "capture", "latency", "gemm", "bandwidth", "attention", "convolution")
# Shares of the time that is left.
SHARES = {"probe": 0.2, "conformance": 3, "silicon": 2, "capture": 0.4, "latency": 1, "gemm": 1.5, "bandwidth": 1,
          "attention": 1, "convolution": 1}
# The emulator of a kind of device, which runs the same kernels.
EMULATORS = {"CUDA": "EMUCUDA+CUDA", "NV": "EMUNVK+NV", "AMD": "EMUKFD+AMD"}
# Kinds that go through NVIDIA's kernel modules, whose calls can be recorded.
OF_NVIDIA = ("CUDA", "NV")
# Columns with the times of others, and who they are.
OTHERS = {"cuBLAS us": "cuBLAS", "cuBLAS TF32 us": "cuBLAS with TF32", "torch us": "PyTorch"}
# Cases that launch one kernel each.
CAPTURED = "^kernel/(results/40|matmul/)"
KINDS = ("CUDA", "NV", "AMD", "QCOM", "METAL", "WEBGPU", "CL")
HERE = os.path.dirname(os.path.abspath(__file__))


class Runner:
    def __init__(self, options):
        self.options = options
        self.end = time.monotonic() + options.minutes * 60
        self.probed = False
        self.environment = dict(os.environ)
        self.environment.pop("DEV", None)
        packed = glob.glob(os.path.join(HERE, "lib", ""))
        before = self.environment.get("LD_LIBRARY_PATH", "").split(":")
        folders = [folder for folder in packed + before + cublas_folders() if folder]
        if folders:
            self.environment["LD_LIBRARY_PATH"] = ":".join(folders)
        self.environment.setdefault("CUDA_PATH", toolkit())

    def left(self):
        return self.end - time.monotonic()

    def json_of(self, *arguments, seconds=None, environment=None):
        """What a command prints as JSON, or {"error": why}."""
        limit = self.left() if seconds is None else min(seconds, self.left())
        if limit <= 0:
            return {"error": "not run: no time was left"}
        try:
            done = subprocess.run([self.options.doorbell, *arguments, "--json"], timeout=limit,
                                  env=dict(self.environment, **(environment or {})),
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, check=False)
        except subprocess.TimeoutExpired:
            return {"error": "ended after %.0f s, its share of the time" % limit}
        except OSError as error:
            return {"error": str(error)}
        try:
            result = json.loads(done.stdout)
        except ValueError:
            return {"error": "exit status %d: %s" % (done.returncode, (done.stderr or done.stdout).strip()[-2000:])}
        if done.returncode != 0:
            result["exit_status"] = done.returncode
        return result

    def devices(self):
        """Names of the devices to run on: those asked for, or the GPUs that open."""
        listing = self.json_of("devices")
        if self.options.devices:
            return listing, self.options.devices
        states = {one["device"]: one for one in listing.get("devices", [])}
        return listing, [kind for kind in KINDS if is_gpu(states.get(kind, {}))]

    def conformance(self, device, seconds):
        """Runs cases until the time is up; what did run is a random sample. The last batch has the rest of the time."""
        chosen = ("--sample=400",) if self.options.quick else ()
        return self.json_of("conformance", "--device", device, "--seconds", "%.0f" % max(1, seconds * 0.8), *chosen,
                            seconds=seconds)

    def silicon(self, device, seconds):
        """Runs the same cases on the device and on its emulator, and compares the bits of the results."""
        kind = kind_of(device)
        emulator = device if device.startswith("EMU") else EMULATORS.get(kind)
        if emulator is None:
            return {"unsupported": "%s has no emulator" % kind}
        chosen = ("--sample=400",) if self.options.quick else ()
        end = time.monotonic() + seconds
        with tempfile.TemporaryDirectory() as folder:
            records = [os.path.join(folder, name) for name in ("device", "emulator")]
            ours = self.json_of("conformance", "--device", device, "--seconds", "%.2f" % max(0.01, seconds * 0.15),
                                "--outputs", records[0], *chosen, seconds=seconds * 0.5)
            if "error" in ours:
                return ours
            chip = chip_of(ours)
            if not device.startswith("EMU"):
                emulator += ":" + ours["renderer"]
            # It is slower: it ends among the batches that the device ran, which come in the same order.
            theirs = self.json_of("conformance", "--device", emulator, "--seconds", "%.2f" % max(0.01, seconds * 0.5),
                                  "--outputs", records[1], *chosen, seconds=end - time.monotonic(),
                                  environment={"EMU_GPU": chip} if chip else {})
            if not os.path.exists(records[1]):
                return {"error": theirs.get("error", "%s wrote no record" % emulator)}
            result = self.json_of("conformance", "--compare", *records, seconds=60)
        result.update(emulator=emulator, chip=chip)
        return result

    def capture(self, device, seconds):
        """Keeps what the driver of the device submits for a few kernels, in OUT/capture-DEVICE."""
        if kind_of(device) not in OF_NVIDIA or device.startswith("EMUCUDA"):
            return {"unsupported": "only calls of NVIDIA's kernel modules are recorded"}
        folder = os.path.abspath(os.path.join(self.options.out, "capture-" + re.sub(r"\W+", "-", device)))
        shutil.rmtree(folder, ignore_errors=True)
        os.makedirs(folder)
        command = [self.options.doorbell, "trace", "--capture", folder, "-o", os.path.join(folder, "calls.txt"), "--",
                   self.options.doorbell, "conformance", "--device", device, "--filter", CAPTURED]
        try:
            done = subprocess.run(command, env=self.environment, timeout=min(seconds, self.left()),
                                  stdout=subprocess.PIPE, stderr=subprocess.PIPE, universal_newlines=True, check=False)
        except (OSError, subprocess.TimeoutExpired) as error:
            return {"error": str(error)}
        submissions = [name for name in sorted(os.listdir(folder)) if os.path.isdir(os.path.join(folder, name))]
        text = "".join(read_text(os.path.join(folder, name, "packets.txt")) for name in submissions)
        result = {"folder": folder, "submissions": len(submissions), "grids": text.count("QMD "),
                  "calls": read_text(os.path.join(folder, "calls.txt")).count(" ioctl ")}
        if done.returncode != 0:
            result["error"] = "exit status %d: %s" % (done.returncode, (done.stderr or done.stdout).strip()[-2000:])
        return result

    def part(self, name, device, seconds):
        if name == "conformance":
            return self.conformance(device, seconds)
        if name == "silicon":
            return self.silicon(device, seconds)
        if name == "capture":
            return self.capture(device, seconds)
        if name == "probe":
            if kind_of(device) == "AMD" and not device.startswith("EMU"):
                return self.json_of("amd", "probe", seconds=seconds)
            if kind_of(device) not in OF_NVIDIA or device.startswith("EMU") or self.probed:
                return {"unsupported": "NVIDIA's kernel modules are asked, once, and AMD's GPUs tried"}
            self.probed = True
            return self.json_of("nv", "probe", seconds=seconds)
        quick = {"latency": ("--runs", "5", "--seconds", "0.01", "--largest", "64KiB"),
                 "gemm": ("--runs", "2", "--sizes", "64"), "bandwidth": ("--runs", "2", "--sizes", "64KiB"),
                 "attention": ("--runs", "2", "--sizes", "64"), "convolution": ("--runs", "2", "--sizes", "1")}
        whole = {"gemm": ("--dtypes", "f32,f16,bf16,i8")}
        arguments = quick[name] if self.options.quick else whole.get(name, ())
        return self.json_of("bench", name, "--device", device, *arguments, seconds=seconds)


def cublas_folders():
    """Folders of PyPI's wheels that have cuBLAS, which the loader does not search."""
    pattern = os.path.join("nvidia", "*", "lib", "libcublas.so.*")
    found = [path for folder in sys.path for path in glob.glob(os.path.join(folder, pattern))]
    return sorted({os.path.dirname(path) for path in found})


def toolkit():
    """The folder of NVIDIA's compilers: a toolkit, or the wheels that PyTorch brings."""
    if os.path.isdir("/usr/local/cuda"):
        return "/usr/local/cuda"
    found = [path for folder in sys.path for path in glob.glob(os.path.join(folder, "nvidia"))]
    return found[0] if found else ""


def refuse_old_libc():
    """Exits with a plain message where the loader would only name a missing symbol."""
    path = os.path.join(HERE, "glibc")
    libc, version = platform.libc_ver()
    if not os.path.exists(path) or libc != "glibc":
        return
    with open(path, encoding="ascii") as file:
        wanted = file.read().strip().split("_")[1]
    if [int(part) for part in version.split(".")] < [int(part) for part in wanted.split(".")]:
        sys.exit("this machine has glibc %s, the program was built for %s: pack it on an older system" %
                 (version, wanted))


def kind_of(device):
    """CUDA of "EMUCUDA+CUDA:PTX", as DEV is written."""
    return device.split("+")[-1].split(":")[0]


def chip_of(report):
    """The architecture that a report of conformance names, such as sm_90, or an empty text."""
    found = re.search(r"\b(sm_\d+|gfx[0-9a-f]+)\b", report.get("arch", "") + " " + report.get("description", ""))
    return found.group(1) if found else ""


def read_text(path):
    try:
        with open(path, encoding="utf-8", errors="replace") as file:
            return file.read()
    except OSError:
        return ""


def is_gpu(device):
    """Whether an entry of `doorbell devices` is a GPU that opens. OpenCL also opens on CPUs (PoCL, llvmpipe)."""
    return device.get("available", False) and "not a GPU" not in device.get("state", "")


def gpus():
    """Name and driver of NVIDIA's GPUs, where nvidia-smi is."""
    try:
        done = subprocess.run(["nvidia-smi", "--query-gpu=name,driver_version", "--format=csv,noheader"],
                              stdout=subprocess.PIPE, universal_newlines=True, check=True)
    except (OSError, subprocess.CalledProcessError):
        return []
    return done.stdout.strip().splitlines()


# ---- PyTorch ---------------------------------------------------------------------------------------------------------

def torch_call(torch, part, what, device):
    """The PyTorch call that matches a row of a benchmark, or None."""
    dtypes = {"f32": torch.float32, "f16": torch.float16, "bf16": torch.bfloat16}
    words = what.split()
    numbers = [int(number) for number in re.findall(r"\b\d+\b", what.split(" ", 1)[1])]
    dtype = next((dtypes[word] for word in words if word in dtypes), None)
    if dtype is None:
        return None
    made = lambda *shape: torch.randn(*shape, device=device, dtype=torch.float32).to(dtype)
    if part == "gemm":
        x, y = made(*numbers[:2]), made(*numbers[:2])
        return lambda: x @ y
    if part == "attention":
        q, k, v = (made(1, *numbers) for _ in range(3))
        causal = words[-1] == "causal"
        return lambda: torch.nn.functional.scaled_dot_product_attention(q, k, v, is_causal=causal)
    if part == "convolution":
        x, weight, stride = made(*numbers[:4]), made(*numbers[4:8]), numbers[8]
        return lambda: torch.nn.functional.conv2d(x, weight, stride=stride, padding=numbers[6] // 2)
    x, y = made(*numbers), made(*numbers)
    return {"scale": lambda: x * 0.5, "add": lambda: x + y, "sum": lambda: x.sum(), "row sums": lambda: x.sum(-1),
            "transpose": lambda: x.t().contiguous(), "softmax": lambda: x.softmax(-1),
            "layernorm": lambda: torch.nn.functional.layer_norm(x, x.shape[-1:])}.get(what.rsplit(" ", 4)[0])


def torch_us(torch, call, device, runs):
    """The median of several samples of several calls each, with one wait, as the benchmarks take them."""
    wait = torch.cuda.synchronize if device == "cuda" else lambda: None
    calls = 1
    for calls in (1, 1, 16):  # warms up, then measures
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        wait()
        one = (time.perf_counter() - begin) / calls
    calls = min(16, max(1, int(0.02 / one)))
    samples = []
    for _ in range(runs):
        begin = time.perf_counter()
        for _ in range(calls):
            call()
        wait()
        samples.append((time.perf_counter() - begin) / calls * 1e6)
    return sorted(samples)[len(samples) // 2]


def compare_with_torch(parts, runner):
    """Adds PyTorch's time to the rows of the benchmarks. It runs on its first CUDA device, or on the CPU for ours."""
    try:
        import torch
    except ImportError:
        return "PyTorch is not installed: nothing to compare with"
    for device, results in parts.items():
        place = "cpu" if device.startswith("CPU") else "cuda"
        if place == "cuda" and not torch.cuda.is_available():
            continue
        for part in ("gemm", "bandwidth", "attention", "convolution"):
            for row in results.get(part, {}).get("rows", []):
                if not isinstance(row.get("median us"), (int, float)) or runner.left() < 5:
                    continue
                try:
                    call = torch_call(torch, part, row["what"], place)
                    if call is not None:
                        row["torch us"] = torch_us(torch, call, place, 3 if runner.options.quick else 20)
                except RuntimeError as error:  # out of memory, say
                    row["torch"] = str(error).splitlines()[0]
    return "PyTorch " + torch.__version__


# ---- the table -------------------------------------------------------------------------------------------------------

def lines_of(part, result):
    if "error" in result:
        return ["%s: %s" % (part, result["error"])]
    if "unsupported" in result:
        return ["%s: not run: %s" % (part, result["unsupported"])]
    if part == "probe" and "steps" in result:
        return ["probe: %(step)s: %(verdict)s" % one +
                (": expected %(expected)s, seen %(seen)s" % one if "expected" in one else "")
                for one in result["steps"]]
    if part == "probe":
        return ["probe: driver %s, %d GPUs" % (result["driver"], len(result["gpus"]))]
    if part == "silicon":
        line = "silicon: %d tensors compared with %s: %d of exact arithmetic differ, %d of approximate, %d in NaN" % (
            result["compared"], result["emulator"], result["exact"], result["approximate"], result["nan"])
        return [line + (" (%s)" % result["note"] if result["note"] else "")]
    if part == "capture":
        return ["capture: %(calls)d calls, %(submissions)d submissions, %(grids)d grids in %(folder)s" % result]
    if part == "conformance":
        return ["conformance: %d passed, %d failed, %d skipped, %d not run for want of time" %
                tuple(result[count] for count in ("passed", "failed", "skipped", "not_run"))]
    if part == "latency":
        return ["%-44s %12.2f us" % (one["what"], one["median"] / 1e3) for one in result["series"] if one["available"]]
    lines = []
    for row in result["rows"]:
        if not isinstance(row["median us"], (int, float)):
            lines.append("%-44s %s" % (part + " " + row["what"], row["not measured"]))
            continue
        rate, unit = (row["GFLOPS"], "GFLOPS") if row["GFLOPS"] != "" else (row["GB/s"], "GB/s")
        beside = "".join("  %5.2f of %s's speed" % (row[column] / row["median us"], name)
                         for column, name in OTHERS.items() if isinstance(row.get(column), (int, float)))
        lines.append("%-44s %12.2f us %10.1f %s%s" % (part + " " + row["what"], row["median us"], rate, unit, beside))
    return lines


def table(report):
    lines = ["# Doorbell %s on %s" % (report["commit"], ", ".join(report["gpus"]) or report["host"]), "",
             report["date"] + ", " + report["torch"], ""]
    for device, parts in report["devices"].items():
        lines += ["## " + device, "", "```"]
        for part, result in parts.items():
            lines += lines_of(part, result)
        lines += ["```", ""]
    if not report["devices"]:
        lines += ["No GPU opened:", ""]
        lines += ["- %(device)s: %(state)s" % one for one in report["listing"].get("devices", [])
                  if one["device"] in KINDS and not is_gpu(one)]
    return "\n".join(lines) + "\n"


def parse(arguments):
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    program = os.path.join(HERE, "bin", "doorbell")
    parser.add_argument("--doorbell", default=program, help="the program; by default the one beside this file")
    parser.add_argument("--parts", default=",".join(PARTS), help="of " + ", ".join(PARTS))
    parser.add_argument("--devices", help="as DEV says them, separated by spaces; by default every GPU that opens")
    parser.add_argument("--minutes", type=float, default=8, help="end within these; 8 by default")
    parser.add_argument("--out", default=".", help="the folder of the table and the JSON")
    parser.add_argument("--quick", action="store_true", help="smallest sizes: to try this program")
    parser.add_argument("--skip", action="store_true", help="exit with 77 where no GPU opens, as tests do")
    options = parser.parse_args(arguments)
    options.parts = options.parts.split(",")
    options.devices = options.devices.split() if options.devices else []
    unknown = [part for part in options.parts if part not in PARTS]
    if unknown:
        parser.error("--parts %s: there is no such part; there are %s" % (",".join(unknown), ", ".join(PARTS)))
    if not os.access(options.doorbell, os.X_OK):
        parser.error("%s is not a program; --doorbell names it" % options.doorbell)
    return options


def main():
    options = parse(sys.argv[1:])
    refuse_old_libc()
    runner = Runner(options)
    listing, devices = runner.devices()
    if not devices and options.skip:
        print("skipped: no GPU opens on this machine")
        return 77
    commit = os.path.join(HERE, "commit")
    report = {"date": datetime.datetime.now(datetime.timezone.utc).strftime("%Y-%m-%d %H:%M UTC"),
              "host": platform.processor() or platform.machine(), "gpus": gpus(),
              "commit": open(commit, encoding="ascii").read().strip() if os.path.exists(commit) else "of this tree",
              "listing": listing, "devices": {}}
    shares = {name: SHARES[name] for name in options.parts}
    for number, device in enumerate(devices):
        results = report["devices"][device] = {}
        # A quarter of each device's time is for PyTorch.
        budget, waiting = runner.left() / (len(devices) - number) * 0.75, dict(shares)
        for part in options.parts:
            share = budget * waiting[part] / sum(waiting.values())
            begin = time.monotonic()
            results[part] = runner.part(part, device, share)
            budget -= time.monotonic() - begin
            del waiting[part]
    report["torch"] = compare_with_torch(report["devices"], runner)
    os.makedirs(options.out, exist_ok=True)
    text = table(report)
    for name, content in (("hw.md", text), ("hw.json", json.dumps(report, indent=1) + "\n")):
        with open(os.path.join(options.out, name), "w", encoding="utf-8") as file:
            file.write(content)
    print(text, end="")
    bad = [part for parts in report["devices"].values() for part in parts.values()
           if "error" in part or part.get("failed") or part.get("exit_status")]
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
