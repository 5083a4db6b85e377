"""Runs a program as several processes of MPI, on this machine.

usage: run.py PROCESSES PROGRAM ARGS...

A machine without mpirun skips (77). More processes than processors are asked for, so that waiting must not spin.
"""
import os
import shutil
import subprocess
import sys

SKIP = 77


def command(processes):
    """The beginning of a command line that starts so many processes."""
    version = subprocess.run(["mpirun", "--version"], capture_output=True, text=True, check=True).stdout
    line = ["mpirun", "-n", str(processes)]
    if "Open MPI" in version or "OpenRTE" in version:
        line += ["--oversubscribe", "--mca", "btl_base_warn_component_unused", "0"]
        # A container has neither a network nor, often, the right to look into another process's memory.
        line += ["--mca", "btl_vader_single_copy_mechanism", "none", "--mca", "btl", "self,vader"]
        if os.geteuid() == 0:
            line += ["--allow-run-as-root"]
    return line


def send(pid, number):
    """A signal, to a process that may have ended."""
    try:
        os.kill(pid, number)
    except ProcessLookupError:
        pass


def main():
    processes, *program = sys.argv[1:]
    if shutil.which("mpirun") is None:
        print("skipped: there is no mpirun here")
        return SKIP
    # Each process computes on one core: they share the machine. What MPI never frees is not ours.
    environment = os.environ | {"CPU_THREADS": "1", "ASAN_OPTIONS": "detect_leaks=0:verify_asan_link_order=0"}
    return subprocess.run(command(processes) + program, env=environment, timeout=280).returncode


if __name__ == "__main__":
    sys.exit(main())
