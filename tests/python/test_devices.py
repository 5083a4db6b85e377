"""A smaller set on other devices than the default: OpenCL, where there is one, and two CPUs at once."""
import os
import subprocess
import sys

import numpy as np
import pytest

import doorbell
from comparing import Batch, numbers
from doorbell import Tensor, jit, nn


def opens(device):
    try:
        doorbell.open_device(device)
        return True, ""
    except doorbell.Error as error:
        return False, str(error)


CL, WHY = opens("CL")
needs_cl = pytest.mark.skipif(not CL, reason=f"SKIPPED: no OpenCL device: {WHY}")


# Of a name that follows, and of the CPU.
BETWEEN = """
import sys
from doorbell import Tensor, jit
other = sys.argv[1]
x = Tensor([1, 2, 3], device="AMD")
print((x * 2).to(other).tolist(), (Tensor([1, 2, 3], device=other) + 4).to("AMD").tolist())
there = (x * 3).to(other)
back = (there + 1).to("AMD") * 2
print(back.to(other).tolist(), there.tolist(), x.float().tolist())
print(*Tensor.stack(back, x).numpy().astype("float64").ravel())


@jit
def step(value):
    return ((value * 2).to(other) + 1).to("AMD") - 1


value = x
for _ in range(5):
    value = step(value)
print(value.tolist())
both = (Tensor([1, 2], device=other) * 5).realize(), (x + 1).realize()
print([tensor.tolist() for tensor in both])
large = (Tensor.arange(70000) % 1000).to(other)
print(large.to("AMD").sum().item(), (large.to("AMD") * 2).to(other).to("CPU").sum().item())
"""


# Devices of which neither waits for the other: behind USB, of another vendor, of one without queues.
@pytest.mark.parametrize(("devices", "other"), [
    ("CPU;EMUUSB+AMD:LLVM", "CPU"),
    ("CPU;EMUKFD+AMD:LLVM;EMUCUDA+CUDA:PTX", "CUDA"),
    ("CPU;EMUKFD+AMD:LLVM;EMUMETAL+METAL", "METAL"),
])
def test_devices_that_share_nothing_copy(devices, other):
    done = subprocess.run([sys.executable, "-c", BETWEEN, other], capture_output=True, text=True, timeout=300,
                          env={**os.environ, "DEV": devices}, check=False)
    assert done.stdout.splitlines() == [
        "[2, 4, 6] [5, 6, 7]",
        "[8, 14, 20] [3, 6, 9] [1.0, 2.0, 3.0]",
        "8.0 14.0 20.0 1.0 2.0 3.0",
        "[32, 64, 96]",
        "[[5, 10], [2, 3, 4]]",
        "34965000 69930000",
    ], done.stderr


@needs_cl
def test_functions_on_opencl():
    rng, batch = np.random.default_rng(1), Batch()
    for shape in ((5,), (3, 4), (2, 3, 4)):
        array = numbers(rng, shape, "float32", 0.5, 2)
        x = Tensor(array, device="CL")
        assert x.device == "CL"
        for name, expected in (("exp", np.exp), ("log", np.log), ("sin", np.sin), ("sqrt", np.sqrt), ("tanh", np.tanh)):
            batch.add(getattr(x, name)(), expected(array), f"{name} {shape}", (1e-4, 1e-5))
        batch.add(x + x * 2 - 1, array * 3 - 1, "arithmetic")
        batch.add(x.sum(), array.sum(), "sum", (1e-4, 1e-4))
        batch.add(x.max(0), array.max(0), "max")
        batch.add(x[..., ::-1], array[..., ::-1], "flip")
        batch.add(x.flatten().sort().values, np.sort(array.ravel()), "sort")
        batch.add(x.reshape(-1, 1) @ x.reshape(1, -1), array.reshape(-1, 1) @ array.reshape(1, -1), "matmul",
                  (1e-4, 1e-4))
        assert (x > 1).nonzero().shape[0] == (array > 1).sum()
    batch.check()


@needs_cl
def test_moving_to_opencl_and_back():
    x = Tensor([[1, 2], [3, 4]])
    there = x.to("CL")
    assert there.device == "CL" and (there * 2).cpu().tolist() == [[2, 4], [6, 8]]
    assert there.numpy().tolist() == [[1, 2], [3, 4]] and there.tolist() == [[1, 2], [3, 4]]
    assert x.to("cl").device == "CL"
    with pytest.raises(ValueError, match="are on devices"):
        x + there
    there[0] = 9
    assert there.tolist() == [[9, 9], [3, 4]]


@needs_cl
def test_training_on_opencl():
    Tensor.manual_seed(1)
    layer = nn.Linear(3, 1, device="CL")
    optimizer = nn.optim.Adam(nn.state.get_parameters(layer), lr=0.1)
    x = Tensor(np.random.default_rng(2).random((8, 3), dtype=np.float32), device="CL")
    y = x.sum(1, keepdim=True)

    @jit
    def step(x, y):
        optimizer.zero_grad()
        loss = (layer(x) - y).square().mean()
        loss.backward()
        optimizer.step(loss)
        return loss

    losses = [step(x, y).item() for _ in range(30)]
    assert losses[-1] < losses[0] / 10


def test_several_devices():
    pair = ("CPU", "CPU:1")
    x = Tensor.arange(12).reshape(4, 3).float()
    rows = x.shard(pair, axis=0)
    assert rows.devices == pair and rows.shard_axis == 0 and rows.device == "CPU,CPU:1"
    assert (rows @ Tensor.eye(3).to(pair)).relu().sum(0).tolist() == [18.0, 22.0, 26.0]
    assert rows.numpy().tolist() == x.tolist()
    assert rows.shard_like(rows).to("CPU").device == "CPU"
    with pytest.raises(ValueError, match="cannot share evenly"):
        Tensor.rand(3, 4).shard(pair, axis=0)
    with pytest.raises(doorbell.Error, match="NOSUCH"):
        doorbell.open_device("NOSUCH")
    assert "CPU" in doorbell.device_names() and doorbell.Device["cpu"] == "CPU"


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_likes_are_where_their_source_is(axis):
    pair = ("CPU", "CPU:1")
    x = Tensor.ones(4, 6).shard(pair, axis)
    likes = {
        "zeros_like": (x.zeros_like(), 0), "ones_like": (x.ones_like(), 1), "full_like": (x.full_like(2.5), 2.5),
        "empty_like": (x.empty_like(), None), "rand_like": (x.rand_like(), None), "randn_like": (x.randn_like(), None),
        "randint_like": (x.cast("int32").randint_like(0, 9), None),
    }
    for name, (like, value) in likes.items():
        like.realize()
        assert (like.devices, like.shard_axis, like.shape) == (pair, axis, (4, 6)), name
        assert value is None or np.all(like.numpy() == value), name
        assert (like + x).numpy().shape == (4, 6), name
    assert x.zeros_like(device="CPU").device == "CPU"
    assert x.T.zeros_like().shard_axis == (None if axis is None else 1 - axis)
