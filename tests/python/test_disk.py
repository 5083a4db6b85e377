"""Tensors on files: the device DISK, from the paths that tinygrad's users take."""
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import doorbell
from doorbell import Tensor, dtypes, nn


@pytest.fixture
def path(tmp_path):
    return str(tmp_path / "file")


@pytest.fixture
def table(path):
    """The numbers 0 to 59 in a file."""
    np.arange(60, dtype=np.float32).tofile(path)
    return path


def test_what_tinygrad_does(path):
    stored = Tensor.ones(10, 10, device="CPU").to(f"disk:{path}")
    stored.realize()
    assert open(path, "rb").read() == b"\x00\x00\x80\x3f" * 100
    assert (Tensor.empty(10, 10, device=f"disk:{path}").numpy() == 1).all()
    x = Tensor([[0, 1, 2, 3], [4, 5, 6, 7]], dtype=dtypes.int32).to(f"disk:{path}2")
    x[0:1] = [[13, 12, 11, 10]]
    assert x.reshape(8).tolist() == [13, 12, 11, 10, 4, 5, 6, 7]
    x[1, 1:3].assign(Tensor([-1, -2]))
    assert x.numpy().tolist() == [[13, 12, 11, 10], [4, -1, -2, 7]]
    x[0, 0].assign(3)
    assert x[0, 0].item() == 3


def test_slices_of_a_file_are_those_of_numpy(table):
    x = Tensor.from_file(table, dtype=dtypes.float32, device="DISK", shape=(3, 4, 5))
    y = np.fromfile(table, dtype=np.float32).reshape(3, 4, 5)
    assert x.device == "DISK" and x.shape == (3, 4, 5)
    for index in (0, -1, (slice(None), 2), (Ellipsis, slice(1, 4, 2)), (slice(None, None, -1), 1),
                  (None, 1, slice(2, 2))):
        assert np.array_equal(x[index].numpy(), y[index]), index
        assert np.array_equal(x[index].to("CPU").numpy(), y[index]), index
    assert np.array_equal(x.permute(2, 0, 1).numpy(), y.transpose(2, 0, 1))
    assert np.array_equal(x.transpose(0, 2).reshape(60).numpy(), y.transpose(2, 1, 0).reshape(60))
    assert np.array_equal(x.bitcast(dtypes.int32)[0, 0].numpy(), y.view(np.int32)[0, 0])
    part = Tensor.from_file(table, dtype=dtypes.float32, shape=2, offset=8)
    assert part.device == doorbell.Device.DEFAULT and part.tolist() == [2, 3]
    assert repr(x[0, 0]) == repr(Tensor(y[0, 0]))


def test_random_assignments_are_those_of_numpy(table):
    rng = np.random.default_rng(5)
    x = Tensor.from_file(table, dtype=dtypes.float32, device="DISK", shape=(3, 4, 5))
    y = np.fromfile(table, dtype=np.float32).reshape(3, 4, 5)
    for _ in range(100):
        index = []
        for size in y.shape[:rng.integers(1, 4)]:
            start, stop = sorted(int(i) for i in rng.integers(0, size + 1, 2))
            steps = [slice(start, stop), slice(start, stop, 2), slice(None, None, -1), int(rng.integers(0, size))]
            index.append(steps[rng.integers(0, 4)])
        values = rng.random(y[tuple(index)].shape, dtype=np.float32)
        x[tuple(index)] = values if rng.random() < 0.5 else Tensor(values)
        y[tuple(index)] = values
        assert np.array_equal(np.fromfile(table, dtype=np.float32).reshape(3, 4, 5), y), index


def test_any_dtype_is_read(path):
    assert Tensor([1.5, -2.0], dtype=dtypes.bfloat16).to(f"DISK:{path}").tolist() == [1.5, -2.0]
    assert Tensor([1.5], dtype=dtypes.bfloat16).to(f"DISK:{path}2").numpy() == np.float32(1.5)
    flags = Tensor([True, False]).to(f"DISK:{path}3")
    assert flags.tolist() == [True, False] and flags[0] and not flags[1]
    assert Tensor.empty(0, 3, device=f"DISK:{path}4").numpy().shape == (0, 3)


def test_what_is_refused(table, tmp_path):
    x = Tensor.from_file(table, dtype=dtypes.float32, device="DISK")
    for compute in (lambda: x + 1, lambda: x.sum(), lambda: x.cast(dtypes.int8), lambda: x[Tensor([1])],
                    lambda: x[::2].contiguous(), lambda: Tensor.cat(x, x), lambda: x.pad((1, 1))):
        with pytest.raises(NotImplementedError, match="DISK"):
            compute()
    with pytest.raises(ValueError, match="has 240 bytes, expected 244 from byte 0 on"):
        Tensor.empty(61, device=f"DISK:{table}")
    with pytest.raises(FileNotFoundError):
        Tensor.from_file(table + "2", device="DISK")
    with pytest.raises(FileNotFoundError):
        Tensor.empty(1, device=f"DISK:{tmp_path}/none/file")
    with pytest.raises(IsADirectoryError):
        Tensor.empty(1, device=f"DISK:{tmp_path}")
    with pytest.raises(ValueError, match="it is a device node"):
        Tensor.empty(1, device="DISK:/dev/full")
    with pytest.raises(ValueError, match="without a file"):
        Tensor([1]).to("DISK")


def test_a_truncated_file_is_an_error(table):
    x = Tensor.from_file(table, dtype=dtypes.float32, device="DISK")
    os.truncate(table, 100)
    with pytest.raises(doorbell.Error, match="ends at byte 100 now, expected at least 240 bytes"):
        x.numpy()
    assert x[24].item() == 24


def test_weights_stay_in_their_file(path):
    layer = nn.Linear(4, 3)
    nn.state.safe_save(nn.state.get_state_dict(layer), path)
    before = open(path, "rb").read()
    lazy = nn.state.safe_load(path, device="DISK")
    assert {tensor.device for tensor in lazy.values()} == {"DISK"}
    assert lazy["weight"][1].tolist() == layer.weight[1].tolist()
    other = nn.Linear(4, 3)
    nn.state.load_state_dict(other, lazy)
    assert other.weight.tolist() == layer.weight.tolist() and other.weight.device == doorbell.Device.DEFAULT
    with pytest.raises(PermissionError):
        lazy["bias"].assign(Tensor.zeros(3))
    assert open(path, "rb").read() == before


def test_files_larger_than_memory(path):
    """In a process that may have 3 GB of address space beyond what it starts with: a file of 64 GiB."""
    code = f"""
import resource, doorbell
from doorbell import Tensor, dtypes
Tensor.ones(2).sum().item()
used = int(open("/proc/self/statm").read().split()[0]) * 4096
resource.setrlimit(resource.RLIMIT_AS, (used + (3 << 30), resource.RLIM_INFINITY))
x = Tensor.empty(1 << 34, dtype=dtypes.float32, device="DISK:{path}")
x[-3:] = Tensor([1.0, 2.0, 3.0])
x[1 << 33] = 7
print(x[-2:].tolist(), x[(1 << 33) - 1:(1 << 33) + 1].tolist(), x[::1 << 33].tolist(), x.shape)
"""
    ran = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True)
    assert ran.stdout.strip() == "[2.0, 3.0] [0.0, 7.0] [0.0, 7.0] (17179869184,)", ran.stderr
    assert os.stat(path).st_size == 1 << 36 and os.stat(path).st_blocks * 512 < 1 << 20


def test_threads_read_and_write_one_file(table):
    x = Tensor.from_file(table, dtype=dtypes.float32, device="DISK", shape=(3, 20))
    wrong = []

    def work(row):
        for i in range(50):
            x[row] = [float(i)] * 20
            if x[row].tolist() != [float(i)] * 20:
                wrong.append(row)

    threads = [threading.Thread(target=work, args=(row,)) for row in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert not wrong
