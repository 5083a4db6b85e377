"""The class Tensor from Python: making, reading, operators, errors, copies. Values come from NumPy or are literals."""
import copy
import gc
import pathlib
import pickle
import weakref

import numpy as np
import pytest

import doorbell
from doorbell import Tensor, dtypes


def test_lists_become_the_dtype_of_their_numbers():
    assert Tensor([1, 2]).dtype == dtypes.int32
    assert Tensor([1, 2.5]).dtype == dtypes.float32
    assert Tensor([True, False]).dtype == dtypes.bool
    assert Tensor([1, 2**40]).dtype == dtypes.int64
    assert Tensor([]).shape == (0,) and Tensor([]).dtype == dtypes.float32
    assert Tensor([[1, 2], [3, 4], [5, 6]]).shape == (3, 2)
    assert Tensor(3.5).shape == () and Tensor(3.5).item() == 3.5
    assert Tensor(range(3)).tolist() == [0, 1, 2]
    assert Tensor([1, 2], dtype=dtypes.float64).tolist() == [1.0, 2.0]
    assert Tensor([2**53 + 1], dtype="int64").item() == 2**53 + 1
    assert Tensor([0.1], dtype=dtypes.float64).item() == 0.1


def test_lists_that_are_no_array_are_refused():
    with pytest.raises(ValueError, match="a list of 1 items beside lists of 2 at depth 1"):
        Tensor([[1, 2], [3]])
    with pytest.raises(ValueError, match="a number at depth 1"):
        Tensor([[1, 2], 3])
    with pytest.raises(TypeError, match="expected numbers"):
        Tensor(["a"])
    with pytest.raises(TypeError):
        Tensor("text")
    with pytest.raises(TypeError):
        Tensor({"a": 1})


def test_bytes_are_elements():
    assert Tensor(b"\x01\x02\xff").tolist() == [1, 2, 255]
    assert Tensor(b"\x01\x00\x02\x00", dtype=dtypes.uint16).tolist() == [1, 2]
    assert Tensor.from_bytes(b"\x00\x00\x80\x3f" * 2, dtypes.float32, (2, 1)).tolist() == [[1.0], [1.0]]
    with pytest.raises(ValueError, match="3 bytes, not a multiple of the 2 of uint16"):
        Tensor(b"\x01\x00\x02", dtype=dtypes.uint16)


def test_tensors_and_arrays_in_lists_are_stacked():
    rows = [Tensor([1, 2]), Tensor([3, 4])]
    assert Tensor(rows).tolist() == [[1, 2], [3, 4]]
    assert Tensor([np.array([1.0, 2.0])]).tolist() == [[1.0, 2.0]]
    assert Tensor([np.float32(1.5), np.int64(2)]).tolist() == [1.5, 2.0]


def test_a_path_is_the_bytes_of_its_file(tmp_path: pathlib.Path):
    path = tmp_path / "bytes"
    path.write_bytes(b"\x01\x02")
    assert Tensor(path).tolist() == [1, 2]
    with pytest.raises(FileNotFoundError):
        Tensor(tmp_path / "nowhere")


@pytest.mark.parametrize("dtype", ["bool", "int8", "uint8", "int16", "uint16", "int32", "uint32", "int64", "uint64",
                                   "float16", "float32", "float64"])
def test_arrays_of_numpy_there_and_back(dtype):
    array = np.array([[0, 1, 2], [3, 100, 7]]).astype(dtype)
    tensor = Tensor(array)
    assert str(tensor.dtype) == dtype
    back = tensor.numpy()
    assert back.dtype == array.dtype
    np.testing.assert_array_equal(back, array)
    assert tensor.tolist() == array.tolist()
    np.testing.assert_array_equal(Tensor(array[:, ::-1]).numpy(), array[:, ::-1])  # strides are copied


def test_dtypes_have_many_names():
    for name in ("float16", "half", "f16", np.float16, np.dtype("float16"), dtypes.half):
        assert Tensor([1], dtype=name).dtype == dtypes.float16
    assert Tensor([1], dtype=float).dtype == dtypes.float32
    assert Tensor([1], dtype=int).dtype == dtypes.int32
    assert Tensor([1], dtype=bool).dtype == dtypes.bool
    assert dtypes.float32 == "float32" and dtypes.float32 != "int8" and dtypes.float32 != None  # noqa: E711
    assert {dtypes.int8: 1}[dtypes.char] == 1
    assert pickle.loads(pickle.dumps(dtypes.bfloat16)) == dtypes.bfloat16
    assert doorbell.finfo("float16").max == 65504 and doorbell.iinfo(dtypes.uint8).max == 255
    with pytest.raises(TypeError):
        Tensor([1], dtype="complex64")


def test_operators_take_numbers_arrays_and_tensors_on_both_sides():
    x = Tensor([1, 2, 3])
    a = np.array([10, 20, 30], dtype=np.int32)
    assert (x + a).tolist() == (a + x).tolist() == [11, 22, 33]
    assert isinstance(a * x, Tensor)
    assert (2 - x).tolist() == [1, 0, -1]
    assert (6 / x).tolist() == [6.0, 3.0, 2.0]
    assert (7 // x).tolist() == [7, 3, 2] and (-7 // x).tolist() == [-7, -4, -3]
    assert (-x % 2).tolist() == [1, 0, 1]
    assert (2.0**x).tolist() == [2, 4, 8] and (x**2).tolist() == [1, 4, 9]
    assert (x & 1).tolist() == [1, 0, 1] and (8 | x).tolist() == [9, 10, 11] and (x ^ x).tolist() == [0, 0, 0]
    assert (1 << x).tolist() == [2, 4, 8] and (x >> 1).tolist() == [0, 1, 1]
    assert (x < 2).tolist() == [True, False, False] and (2 <= x).tolist() == [False, True, True]
    assert (x == 2).tolist() == [False, True, False] and (x != [1, 2, 4]) is not None
    assert (~x).tolist() == [-2, -3, -4] and (-x).tolist() == [-1, -2, -3] and (+x).tolist() == [1, 2, 3]
    assert abs(Tensor([-1.5])).item() == 1.5
    assert (x @ x).item() == 14
    assert (x + np.float32(0.5)).tolist() == [1.5, 2.5, 3.5]
    with pytest.raises(TypeError):
        x + "1"
    with pytest.raises(TypeError):
        x + [1, 2, 3]


def test_operators_in_place_change_every_handle():
    x = Tensor([1.0, 2.0])
    same, before = x, x + 0
    x += 1
    x *= 3
    x -= Tensor([1.0, 1.0])
    x /= 2
    assert same is x and x.tolist() == [2.5, 4.0]
    x **= 2
    x //= 3
    assert same.tolist() == [2.0, 5.0]
    m = Tensor([[1.0, 1.0], [0.0, 1.0]])
    m @= m
    assert m.tolist() == [[1.0, 2.0], [0.0, 1.0]]
    assert before.tolist() == [1.0, 2.0]
    with pytest.raises(ValueError, match="cannot assign"):
        x += Tensor([[1.0, 2.0]])


def test_truth_and_numbers_are_of_one_element():
    assert bool(Tensor([1.5])) and not Tensor(0)
    assert int(Tensor(7)) == 7 and float(Tensor([2])) == 2.0 and [1, 2, 3][Tensor(1)] == 2
    assert f"{Tensor(1.25):.1f}" == "1.2" and f"{Tensor([1])}" == "tensor([1])"
    with pytest.raises(ValueError, match=r"the truth of a tensor of shape \(2\)"):
        bool(Tensor([1, 2]))
    with pytest.raises(ValueError, match="expected one element"):
        Tensor([1, 2]).item()
    assert 2 in Tensor([1, 2]) and 3 not in Tensor([1, 2])


def test_properties():
    x = Tensor.zeros(2, 3, dtype=dtypes.float16)
    assert (x.shape, x.ndim, x.numel(), x.nbytes, x.itemsize, len(x)) == ((2, 3), 2, 6, 12, 2, 2)
    assert x.size() == (2, 3) and x.size(-1) == 3 and x.dim() == 2
    assert x.T.shape == (3, 2) and x.is_floating_point() and x.device == "CPU" and x.devices == ("CPU",)
    with pytest.raises(TypeError):
        len(Tensor(1))


def test_printing():
    assert repr(Tensor([[1, 2], [3, 4]])) == "tensor([[1, 2],\n        [3, 4]])"
    assert str(Tensor([1.5, 2.0], dtype=dtypes.float64)) == "tensor([1.5000, 2.0000], dtype=float64)"
    assert repr(dtypes.bfloat16) == "dtypes.bfloat16" and str(dtypes.bool) == "bool"


def test_pickling_and_copies():
    for tensor in (Tensor([[1.5, 2.0]]), Tensor([True, False]), Tensor([1.0], dtype=dtypes.bfloat16),
                   Tensor.zeros(0, 3), Tensor([3], requires_grad=False)):
        for made in (pickle.loads(pickle.dumps(tensor)), copy.deepcopy(tensor)):
            assert made.dtype == tensor.dtype and made.shape == tensor.shape and made.tolist() == tensor.tolist()
    leaf = pickle.loads(pickle.dumps(Tensor([1.0], requires_grad=True)))
    assert leaf.is_leaf and leaf.requires_grad
    x = Tensor([1.0])
    y = copy.deepcopy(x)
    x += 1
    assert y.item() == 1.0


def test_gradients():
    w = Tensor([1.0, 2.0], requires_grad=True)
    assert w.grad is None and w.requires_grad and w.is_leaf
    (w * w).sum().backward()
    assert w.grad.tolist() == [2.0, 4.0]
    (w * 3).backward(Tensor([1.0, 10.0]))
    assert w.grad.tolist() == [5.0, 34.0]
    w.grad = None
    assert w.grad is None
    w.grad = Tensor([7.0, 7.0])
    assert w.grad.tolist() == [7.0, 7.0]
    x = Tensor([2.0])
    (first,) = (x * x * x).gradient(x)
    (second,) = first.gradient([x])
    assert (first.item(), second.item()) == (12.0, 12.0)
    with pytest.raises(ValueError, match="gradient of a tensor of shape"):
        (w * w).backward()
    assert not (w * 2).detach().requires_grad
    x.requires_grad = True
    assert x.requires_grad_(False).requires_grad is False


def test_errors_are_of_the_natural_kind():
    x = Tensor.ones(2, 3)
    with pytest.raises(ValueError, match=r"cannot broadcast shapes \(2, 3\) and \(4\)") as caught:
        x + Tensor.ones(4)
    assert isinstance(caught.value, doorbell.Error) and caught.value.kind == "invalid"
    with pytest.raises(IndexError, match="axis 2 of a tensor with 2 axes"):
        x.sum(2)
    with pytest.raises(ValueError, match="axis 2 of a tensor with 2 axes"):
        x.sum(2)
    with pytest.raises(IndexError, match="index 3 is out of range for axis 1"):
        x[0, 3]
    with pytest.raises(IndexError, match="3 indices for a tensor of shape"):
        x[0, 0, 0]
    with pytest.raises(IndexError):
        x["a"]
    with pytest.raises(TypeError):
        x.sum(axis="a")
    with pytest.raises(TypeError):
        x.sum(nothing=1)
    with pytest.raises(ValueError, match="expected one of: mean, sum, none"):
        x.cross_entropy(Tensor([0, 1]), reduction="all")
    with pytest.raises(NotImplementedError, match="bool tensors to the power of tensors"):
        Tensor([True]) ** Tensor([True])
    with pytest.raises(doorbell.Error, match="NOSUCH"):
        x.to("NOSUCH")
    with pytest.raises(FileNotFoundError) as missing:
        Tensor.from_file("/nowhere")
    assert missing.value.errno == 2 and isinstance(missing.value, doorbell.Error)


def test_memory_is_shared_where_it_says_so():
    array = np.arange(6, dtype=np.float32)
    shared, copied = Tensor.from_numpy(array), Tensor(array)
    array[0] = 7
    assert (shared + 0)[0].item() == 7 and copied[0].item() == 0
    shared.numpy()[1] = 8
    assert array[1] == 8
    assert np.shares_memory(shared.numpy(), array)
    watched = weakref.ref(array)
    del array
    gc.collect()
    assert watched() is not None and shared[5].item() == 5
    del shared
    for _ in range(3):
        Tensor([1]).item()
    gc.collect()
    assert watched() is None, "the tensor is gone, and the array with it"
    with pytest.raises(ValueError, match="strides"):
        Tensor.from_numpy(np.arange(6).reshape(2, 3).T)


def test_buffer_protocol_and_dlpack():
    x = Tensor([[1, 2], [3, 4]])
    view = memoryview(x)
    assert view.format in ("i", "l") and view.shape == (2, 2) and view.tolist() == [[1, 2], [3, 4]]
    np.testing.assert_array_equal(np.asarray(x), [[1, 2], [3, 4]])
    np.testing.assert_array_equal(np.from_dlpack(x), [[1, 2], [3, 4]])
    assert np.array(x, dtype=np.float64).dtype == np.float64
    assert x.__dlpack_device__() == (1, 0)
    assert float(np.sin(Tensor([0.0]))[0]) == 0.0
    assert Tensor.from_dlpack(np.arange(3)).tolist() == [0, 1, 2]
    assert Tensor([1.5], dtype=dtypes.bfloat16).numpy().dtype == np.float32
    with pytest.raises(TypeError, match="detach"):
        Tensor([1.0], requires_grad=True).__dlpack__()


def test_numpy_is_the_tensors_own_memory():
    x = (Tensor([1.0, 2.0]) + 1).realize()
    assert np.shares_memory(x.numpy(), x.numpy())
    x.numpy()[0] = 9
    assert x.tolist() == [9.0, 3.0] and (x + 0).tolist() == [9.0, 3.0]
    kept = (x * 2).numpy()
    del x
    gc.collect()
    assert kept.tolist() == [18.0, 6.0]
    assert x_of_subclass().numpy().tolist() == [1.0]


class Special(Tensor):
    """A subclass is a tensor, with attributes of its own."""


def x_of_subclass():
    x = Special([1.0])
    x.note = "mine"
    assert isinstance(x, Tensor) and (x + Tensor([1.0])).tolist() == [2.0] and x.note == "mine"
    return x


def test_memory_at_an_address():
    array = np.arange(4, dtype=np.int32)
    x = Tensor.from_blob(array.ctypes.data, (2, 2), dtype=dtypes.int32)
    assert x.tolist() == [[0, 1], [2, 3]]


def test_assign_and_replace():
    x = Tensor([1.0, 2.0])
    y = x + 1
    assert x.assign([5, 6]) is x and x.tolist() == [5.0, 6.0] and y.tolist() == [2.0, 3.0]
    assert x.replace(Tensor([[1]])).shape == (1, 1)
    with pytest.raises(ValueError, match="cannot assign"):
        x.assign(Tensor([1.0, 2.0, 3.0]))


def test_windows_of_nothing_and_places_of_scalars():
    """PyTorch's shapes: torch.arange(5.).unfold(0, 0, 2).shape is (3, 0)."""
    assert Tensor.arange(5).unfold(0, 0, 2).shape == (3, 0)
    assert Tensor.zeros(2, 5).unfold(1, 0, 1).shape == (2, 6, 0)
    assert Tensor.zeros(0, 2).unbind(0) == () and len(Tensor.zeros(0, 2).unbind(1)) == 2
    assert [part.shape for part in Tensor.zeros(2, 0).unbind()] == [(0,), (0,)]
    assert Tensor(3).nonzero(size=2).shape == (2, 0)


def test_sizes_are_ordered():
    variable = doorbell.Variable("ordered", 2, 8)
    n, m = variable.bind(3), doorbell.Variable("other", 9, 12).bind(10)
    assert n == 3 and 3 == n and n != 4 and hash(n) == hash(3) and n in {3} and n * 2 == 6
    assert n < 9 and n <= 8 and n > 1 and n >= 2 and not n > 8 and not n < 2  # by the bounds
    assert n < 4 and n <= 3 and not n > 3 and 4 > n and 3 <= n  # by the number
    assert n < m and m >= n and not n >= m and n <= n and not n < n
    assert sorted([m, 5, n]) == [3, 5, 10]
    assert Tensor.arange(8)[:n].shape == (3,)
    with pytest.raises(TypeError):
        n < "4"
