"""Bars of progress on a terminal: of kernels and copies that take more than a second, gone at the end; nowhere else."""
import os
import pathlib
import re
import subprocess
import sys

import pytest

sys.path.insert(0, str(pathlib.Path(os.environ["DOORBELL_SOURCE_ROOT"]) / "tests" / "support"))
from terminal import COLUMNS, run_on_terminal  # noqa: E402

# Kernels of which no two are equal, one compiled after the other, and not from the cache.
COMPILE = """
from doorbell import Tensor
Tensor.realize(*[(Tensor.arange(n).float() * n).sin() for n in range(10, 40)])
print("done")
"""
# Of an emulated GPU, whose copies of a gibibyte are slow.
COPY = """
import numpy as np
from doorbell import Tensor
x = Tensor(np.zeros((1 << 30) // 4, dtype=np.float32), device="AMD").realize()
print("done")
"""
SLOWLY = {"DEV": "CPU:CLANG", "PARALLEL": "1", "CACHELEVEL": "0"}


def on_terminal(program, **environment):
    """Standard output, and what the terminal got."""
    status, output, seen = run_on_terminal([sys.executable, "-c", program], **environment)
    assert status == 0, seen
    return output, seen


def assert_bar(seen, text):
    assert re.match(r"\r\[[= ]{30}\] \d+/\d+ +" + text, seen), seen[:200]
    assert seen.endswith("\r\x1b[K"), seen[-40:]
    for drawn in seen.split("\r"):
        assert len(drawn.replace("\x1b[K", "")) < COLUMNS, drawn


def test_kernels_that_compile_for_long_have_a_bar():
    output, seen = on_terminal(COMPILE, **SLOWLY)
    assert output == "done\n"
    assert_bar(seen, "compiling kernels")


def test_copies_that_take_long_have_a_bar():
    emulated = {"DEV": "CPU;EMUKFD+AMD:LLVM"}
    probe = subprocess.run([sys.executable, "-c", "from doorbell import Tensor; Tensor([1], device='AMD').realize()"],
                           env={**os.environ, **emulated}, capture_output=True, text=True, timeout=100)
    if probe.returncode:
        pytest.skip("no emulated GPU: " + probe.stderr[-200:])
    output, seen = on_terminal(COPY, **emulated)
    assert output == "done\n"
    if seen:  # a machine may copy a gibibyte in a second
        assert_bar(seen, "MiB, copying to")


def test_a_setting_turns_them_off():
    assert on_terminal(COMPILE, PROGRESS="0", **SLOWLY) == ("done\n", "")


def test_what_is_soon_done_has_none():
    assert on_terminal("from doorbell import Tensor; print((Tensor([1, 2]) + 1).tolist())") == ("[2, 3]\n", "")


def test_pipes_get_none():
    done = subprocess.run([sys.executable, "-c", COMPILE], env={**os.environ, **SLOWLY, "PROGRESS": "1"},
                          capture_output=True, text=True, timeout=100)
    assert (done.returncode, done.stdout, done.stderr) == (0, "done\n", "")
