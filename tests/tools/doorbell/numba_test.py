"""Runs kernels of Numba, unchanged, on emulated NVIDIA GPUs through the CUDA driver API: code of a compiler that is not
ours, loaded and launched by a client that is not ours. Rules at `error` but for the one that Numba breaks. Expected
values are NumPy's and Python's.

usage: numba_test.py PATH_OF_DOORBELL PYTHON
"""

import os
import subprocess
import sys
import unittest

TOOL, PYTHON = sys.argv.pop(1), sys.argv.pop(1)

# cuda.reduce calls syncwarp() in a branch that two lanes of 32 take.
BROKEN = "NV-SYNC-005"

PROGRAM = """
import math, warnings
import numpy as np
from numba import cuda, float32
warnings.simplefilter("ignore")
SIZE = 16
rng = np.random.default_rng(1)

@cuda.jit
def product(a, b, c):
    tile_a, tile_b = cuda.shared.array((SIZE, SIZE), float32), cuda.shared.array((SIZE, SIZE), float32)
    column, row = cuda.grid(2)
    i, j = cuda.threadIdx.y, cuda.threadIdx.x
    total = float32(0)
    for block in range(a.shape[1] // SIZE):
        tile_a[i, j] = a[row, block * SIZE + j]
        tile_b[i, j] = b[block * SIZE + i, column]
        cuda.syncthreads()
        for k in range(SIZE): total += tile_a[i, k] * tile_b[k, j]
        cuda.syncthreads()
    c[row, column] = total
a, b = rng.random((64, 48), dtype=np.float32), rng.random((48, 32), dtype=np.float32)
c = np.zeros((64, 32), np.float32)
product[(2, 4), (SIZE, SIZE)](a, b, c)
np.testing.assert_allclose(c, a @ b, rtol=1e-5)
print("product")

@cuda.jit
def histogram(values, counts):
    own = cuda.shared.array(37, np.int32)
    i, t = cuda.grid(1), cuda.threadIdx.x
    if t < 37: own[t] = 0
    cuda.syncthreads()
    if i < values.size: cuda.atomic.add(own, values[i], 1)
    cuda.syncthreads()
    if t < 37: cuda.atomic.add(counts, t, own[t])
values, counts = rng.integers(0, 37, 5000).astype(np.int32), np.zeros(37, np.int32)
histogram[40, 128](values, counts)
np.testing.assert_array_equal(counts, np.bincount(values, minlength=37))
print("histogram")

@cuda.reduce
def total(a, b): return a + b
assert total(cuda.to_device(np.arange(12345, dtype=np.int64))) == 12345 * 12344 // 2
print("reduction")

@cuda.jit
def functions(x, y):
    i = cuda.grid(1)
    if i < x.size: y[i] = math.sin(x[i]) * math.exp(x[i]) + math.pow(abs(x[i]), 0.3) + math.erf(x[i])
for dtype, rtol in ((np.float64, 1e-12), (np.float32, 2e-5)):
    x = (rng.random(1000) * 8 - 4).astype(dtype)
    y = np.zeros_like(x)
    functions[8, 128](x, y)
    wanted = [math.sin(v) * math.exp(v) + math.pow(abs(v), 0.3) + math.erf(v) for v in x.astype(float)]
    np.testing.assert_allclose(y, wanted, rtol=rtol, atol=1e-5)
print("functions")

@cuda.jit
def lanes(x):
    i = cuda.grid(1)
    value, distance = x[i], 16
    while distance > 0:
        value += cuda.shfl_down_sync(0xffffffff, value, distance)
        distance //= 2
    x[i] = value
x = np.arange(64, dtype=np.float32)
lanes[2, 32](x)
assert x[0] == sum(range(32)) and x[32] == sum(range(32, 64))
print("lanes")

@cuda.jit
def windows(x, y):
    own = cuda.local.array(32, float32)
    i = cuda.grid(1)
    for k in range(32): own[k] = x[(i + k) % x.size]
    s = float32(0)
    for k in range(32): s += own[(k * (i % 7 + 1)) % 32]
    y[i] = s
x = rng.random(512, dtype=np.float32)
y = np.zeros_like(x)
windows[4, 128](x, y)
wanted = [sum(float(x[(i + (k * (i % 7 + 1)) % 32) % 512]) for k in range(32)) for i in range(512)]
np.testing.assert_allclose(y, wanted, rtol=1e-5)
print("local memory")
"""
PARTS = ["product", "histogram", "reduction", "functions", "lanes", "local memory"]


def has_numba():
    return subprocess.run([PYTHON, "-c", "import numba.cuda, cuda.core"], capture_output=True).returncode == 0


@unittest.skipUnless(has_numba(), "numba-cuda[cu13] is not installed: scripts/test --torch brings it")
class Numba(unittest.TestCase):
    def run_on(self, gpu):
        done = subprocess.run(
            [TOOL, "emu", "--gpu", gpu, "--check", f"error,{BROKEN}=warn", "--", PYTHON, "-c", PROGRAM],
            capture_output=True, text=True, timeout=280, env=dict(os.environ))
        self.assertEqual(done.stdout.splitlines(), PARTS, done.stderr[-4000:])
        self.assertEqual(done.returncode, 0, done.stderr[-4000:])

    def test_an_sm_86(self):
        self.run_on("sm_86")

    def test_an_sm_90(self):
        self.run_on("sm_90")


if __name__ == "__main__":
    unittest.main(verbosity=2)
