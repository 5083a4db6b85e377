"""Views against PyTorch: what shares elements, assigning through it, and what keeps the old value."""
import numpy as np
import pytest

import doorbell
from comparing import Batch
from doorbell import Tensor, jit

torch = pytest.importorskip("torch")


def numbered(*shape, dtype="float32"):
    return np.arange(np.prod(shape), dtype=dtype).reshape(shape)


# Each takes a tensor of ours or PyTorch's, (4, 6), and gives a view.
VIEWS = {
    "slice": lambda x: x[1:3],
    "columns": lambda x: x[:, 2:5],
    "steps": lambda x: x[::2, 1::3],
    "rest of a step": lambda x: x[::3, ::4],
    "row": lambda x: x[2],
    "last column": lambda x: x[..., -1],
    "element": lambda x: x[1, 2],
    "new axes": lambda x: x[None, 1:3, None],
    "chain": lambda x: x[1:][::2][:, 3],
    "transpose": lambda x: x.T,
    "transpose of axes": lambda x: x.transpose(0, 1)[1:3],
    "permute": lambda x: x.reshape(2, 2, 6).permute(2, 0, 1),
    "reshape": lambda x: x.reshape(3, 8),
    "view": lambda x: x.view(2, 12)[1],
    "flatten": lambda x: x.flatten()[5:9],
    "unflatten": lambda x: x.unflatten(1, (2, 3))[:, 1],
    "reshape of rows": lambda x: x[1:3].reshape(12),
    "split of columns": lambda x: x[:, :4].reshape(4, 2, 2),
    "unsqueeze": lambda x: x.unsqueeze(1),
    "squeeze": lambda x: x[2:3].squeeze(0),
    "detach": lambda x: x.detach(),
    "part of detach": lambda x: x.detach()[1:2],
    "diagonal": lambda x: x.diagonal(),
    "upper diagonal": lambda x: x.diagonal(1),
    "lower diagonal": lambda x: x.diagonal(-2),
    "split": lambda x: x.split(2)[1],
    "chunk": lambda x: x.chunk(3, 1)[2],
    "unbind": lambda x: x.unbind(1)[4],
    "a row of expand": lambda x: x[1].expand(3, 6)[2],
    "contiguous": lambda x: x.contiguous()[1:],
    "nothing": lambda x: x[2:2],
    "all": lambda x: x[:],
}


def whole(view, value):
    view[...] = value


def add(view, value):
    view += value


# (what it does to ours, to PyTorch's)
ASSIGNMENTS = {
    "brackets": (lambda v: whole(v, -1.5), lambda v: whole(v, -1.5)),
    "assign": (lambda v: v.assign(Tensor(-2.5)), lambda v: v.copy_(torch.tensor(-2.5))),
    "integers": (lambda v: v.assign(Tensor(7)), lambda v: v.copy_(torch.tensor(7))),
    "in place": (lambda v: add(v, 10), lambda v: add(v, 10)),
    "by itself": (lambda v: v.assign(v * v + 1), lambda v: v.copy_(v * v + 1)),
    "number": (lambda v: v.assign(3.5), lambda v: v.fill_(3.5)),
}

# Where the elements come from.
BASES = {
    "numpy": lambda: Tensor(numbered(4, 6)),
    "realized": lambda: Tensor(numbered(4, 6)).realize(),
    "computed": lambda: Tensor(numbered(4, 6)) * 2 - numbered(4, 6),
    "computed and realized": lambda: (Tensor(numbered(4, 6)) * 2 - numbered(4, 6)).realize(),
    "assigned": lambda: Tensor.zeros(4, 6).assign(numbered(4, 6)),
}


@pytest.mark.parametrize("base", BASES)
@pytest.mark.parametrize("view", VIEWS)
def test_assigning_to_views(view, base):
    batch = Batch()
    for name, (ours, theirs) in ASSIGNMENTS.items():
        x, expected = BASES[base](), torch.tensor(numbered(4, 6))
        before = expected.clone()
        kept, other, there = x + 0, x[1:, 1:], VIEWS[view](expected)
        seen = VIEWS[view](x)
        kept_view = seen + 0
        before_view = there.clone()
        ours(seen)
        theirs(there)
        what = f"{view} of {base}, {name}"
        batch.add(x, expected.numpy(), f"{what}: the tensor")
        batch.add(seen, there.numpy(), f"{what}: the view")
        batch.add(VIEWS[view](x), there.numpy(), f"{what}: a new view")
        batch.add(other, expected.numpy()[1:, 1:], f"{what}: another view")
        batch.add(kept, before.numpy(), f"{what}: what was computed before")
        batch.add(kept_view, before_view.numpy(), f"{what}: what was computed from the view before")
    batch.check()


@pytest.mark.parametrize("view", VIEWS)
def test_views_see_their_tensor_change(view):
    x, expected = Tensor(numbered(4, 6)), torch.tensor(numbered(4, 6))
    ours, theirs = VIEWS[view](x), VIEWS[view](expected)
    x += 1
    expected += 1
    np.testing.assert_array_equal(ours.numpy(), theirs.numpy())
    x[1:3, ::2] = -5
    expected[1:3, ::2] = -5
    np.testing.assert_array_equal(ours.numpy(), theirs.numpy())
    x.assign(Tensor(numbered(4, 6)) * 3)
    np.testing.assert_array_equal(ours.numpy(), VIEWS[view](torch.tensor(numbered(4, 6) * 3)).numpy())


@pytest.mark.parametrize("view", VIEWS)
def test_views_of_constants(view):
    x, expected = Tensor.zeros(4, 6), torch.zeros(4, 6)
    VIEWS[view](x).assign(Tensor(1.0))
    VIEWS[view](expected).copy_(torch.tensor(1.0))
    np.testing.assert_array_equal(x.numpy(), expected.numpy())


def test_steps_backwards_are_numpys():
    x, expected = Tensor(numbered(4, 6)), numbered(4, 6)
    for index in (slice(None, None, -1), slice(3, None, -2), (slice(None), slice(4, 0, -3)),
                  (slice(None, None, -1), slice(None, None, -2))):
        view, there = x[index], expected[index]
        view += 100
        there += 100
        view[0] = -1
        there[0] = -1
        np.testing.assert_array_equal(x.numpy(), expected)
        np.testing.assert_array_equal(view.numpy(), there)


def test_chained_brackets():
    x, expected = Tensor.zeros(3, 4, 5), np.zeros((3, 4, 5), dtype=np.float32)
    x[1][2] = 1
    expected[1][2] = 1
    x[0][1:3][:, ::2] = 2
    expected[0][1:3][:, ::2] = 2
    x.T[4][0] += 3
    expected.T[4][0] += 3
    x[2].T[1:][0] = Tensor([7.0, 8.0, 9.0, 10.0])
    expected[2].T[1:][0] = [7, 8, 9, 10]
    x[1:][[0, 1], [2, 3]] = 5
    expected[1:][[0, 1], [2, 3]] = 5
    x[0][Tensor(expected[0] == 2)] = 6
    expected[0][expected[0] == 2] = 6
    np.testing.assert_array_equal(x.numpy(), expected)


@pytest.mark.parametrize("dtype", ["float64", "float16", "int64", "int8", "uint8", "bool"])
def test_values_are_converted_as_by_copy_(dtype):
    values = np.array([[0.0, 1.75, 2.5], [3.99, 100.0, 6.0]])
    x, expected = Tensor(np.zeros((2, 3), dtype)), torch.zeros(2, 3, dtype=getattr(torch, dtype))
    x.T.assign(Tensor(values.T))
    expected.T.copy_(torch.tensor(values.T))
    assert x.dtype == getattr(doorbell.dtypes, dtype)
    np.testing.assert_array_equal(x.numpy(), expected.numpy())
    x[0] = Tensor(values[1:])
    expected[0] = torch.tensor(values[1:])
    np.testing.assert_array_equal(x.numpy(), expected.numpy())


def test_results_in_place_keep_their_kind():
    for x in (Tensor([1, 2, 3]), Tensor([1, 2, 3, 4])[1:]):
        with pytest.raises(ValueError, match="cannot assign"):
            x += 1.5
        x += 1
    flags = Tensor([True, False])
    with pytest.raises(ValueError, match="cannot assign"):
        flags += 1
    half = Tensor([1.0, 2.0], dtype="float16")
    half += Tensor([1.0, 2.0], dtype="float64")
    assert half.tolist() == [2.0, 4.0] and half.dtype == doorbell.dtypes.float16


def test_shapes_that_do_not_fit_are_named():
    x = Tensor.zeros(2, 3)
    for value in (Tensor.ones(2, 2), Tensor.ones(2), Tensor.ones(1, 2, 3), Tensor.ones(4, 2, 3)):
        with pytest.raises(ValueError, match=r"cannot assign .* to .* of shape \(2, 3\)"):
            x.assign(value)
    with pytest.raises(ValueError):
        x[:, 1] = Tensor.ones(3)
    x[0] = Tensor.ones(1, 1, 3)  # as in NumPy and PyTorch
    assert x.tolist() == [[1, 1, 1], [0, 0, 0]]


def test_elements_that_are_shown_several_times_are_refused():
    x = Tensor([[1.0], [2.0]])
    wide = x.expand(2, 3)
    for change in (lambda: wide.assign(Tensor.zeros(2, 3)), lambda: add(wide, 1), lambda: whole(wide, 1),
                   lambda: whole(wide[0], 1), lambda: whole(Tensor([5.0]).expand(3), 1)):
        with pytest.raises(ValueError, match="several times"):
            change()
    assert x.tolist() == [[1], [2]] and wide.tolist() == [[1, 1, 1], [2, 2, 2]]
    wide[:, 1] = Tensor([7.0, 8.0])
    assert wide.tolist() == [[7, 7, 7], [8, 8, 8]] and x.tolist() == [[7], [8]]


# Each gives a copy in PyTorch (of x[:1] for the last, where nothing is left to do).
COPIES = {
    "flip": lambda x: x.flip(0),
    "flip of nothing": lambda x: x[:1].flip(0),
    "repeat": lambda x: x.repeat(2, 1),
    "repeat once": lambda x: x.repeat(1, 1),
    "repeat_interleave": lambda x: x.repeat_interleave(2, 0),
    "repeat_interleave once": lambda x: x.repeat_interleave(1, 0),
    "roll": lambda x: x.roll(1, 0),
    "roll nowhere": lambda x: x.roll(0, 0),
    "pad": lambda x: Tensor.pad(x, ((0, 1), (0, 0))),
    "pad nothing": lambda x: Tensor.pad(x, ((0, 0), (0, 0))),
    "cat": lambda x: Tensor.cat([x], axis=0),
    "stack": lambda x: Tensor.stack([x], axis=0),
    "clone": lambda x: x.clone(),
    "reshape of a transpose": lambda x: x.T.reshape(-1),
    "contiguous of a transpose": lambda x: x.T.contiguous(),
    "contiguous of a realized transpose": lambda x: x.T.realize().contiguous(),
    "list": lambda x: x[[0, 1]],
    "mask": lambda x: x[Tensor([True, False, True, True])],
    "sum of one": lambda x: x[:1].sum(0),
    "max of one": lambda x: x[:1].max(0),
    "mean of one": lambda x: x[:1].mean(0, keepdim=True),
    "cumsum of one": lambda x: x[:1].cumsum(0),
    "sort of one": lambda x: x[:1].sort(0)[0],
    "abs": lambda x: x.abs(),
    "tril": lambda x: x.tril(9),
    "diag": lambda x: x[:, :4].diag(),
    "where": lambda x: (x > -1).where(x, x),
    "plus": lambda x: x + 0,
    "clip": lambda x: x.clip(-100, 100),
    "gather": lambda x: x.gather(0, Tensor.zeros(1, 6, dtype="int32")),
    "round of integers": lambda x: x.cast("int32").round(),
    "unfold": lambda x: x.unfold(0, 2, 2),
}


@pytest.mark.parametrize("name", COPIES)
def test_copies_share_nothing(name):
    x = Tensor(numbered(4, 6)).realize()
    copy = COPIES[name](x)
    copy += 1000
    assert x.tolist() == numbered(4, 6).tolist()
    kept = copy.tolist()
    x -= 1000
    assert copy.tolist() == kept
    copy[...] = 5
    assert np.all(copy.numpy() == 5) and np.all(x.numpy() == numbered(4, 6) - 1000)


LOST = ["flip", "list", "plus", "reshape of a transpose", "repeat", "where", "sum of one", "mask"]


@pytest.mark.parametrize("name", LOST)
def test_assignments_that_nobody_would_see_are_refused(name):
    x = Tensor(numbered(4, 6)).realize()
    with pytest.raises(ValueError, match="would be lost"):
        COPIES[name](x)[0] = 1
    if name != "reshape of a transpose":
        with pytest.raises(ValueError, match="would be lost"):
            COPIES[name](x).assign(1)
    named = COPIES[name](x)
    named[0] = 1
    named.assign(2)
    assert np.all(named.numpy() == 2)
    x[[0, 1]] += 1  # this is no such
    assert x.tolist() == (numbered(4, 6) + [[1], [1], [0], [0]]).tolist()


def test_what_gives_itself_may_be_in_between():
    assert Tensor.zeros(3).assign(Tensor([1.0, 2, 3])).tolist() == [1, 2, 3]
    assert Tensor.empty(2).assign(4).tolist() == [4, 4]


def test_views_outlive_their_tensor():
    def views():
        x = Tensor(numbered(6)) + 1
        return x[0:4], x[2:6], x.reshape(2, 3)
    a, b, c = views()
    a += 10
    b[0] = -1
    c[1, 2] = 50
    assert a.tolist() == [11, 12, -1, 14]
    assert b.tolist() == [-1, 14, 5, 50]
    assert c.tolist() == [[11, 12, -1], [14, 5, 50]]
    x = Tensor(numbered(6))
    a, b = x[:3], x[1:]
    x += 1
    del x
    assert a.tolist() == [1, 2, 3]
    b += 1
    assert a.tolist() == [1, 3, 4] and b.tolist() == [3, 4, 5, 6, 7]


def test_replacing_leaves_views_behind():
    x = Tensor(numbered(4))
    view, other = x[:2], x[1:]
    x.replace(Tensor([9, 9]))
    view += 5
    assert x.tolist() == [9, 9] and view.tolist() == [5, 6] and other.tolist() == [6, 2, 3]


def test_realizing_changes_nothing():
    x = Tensor(numbered(4, 4)) * 1
    view, part = x.T, x.T[1:3]
    view.realize()
    child = view[0]
    x[0] = -1
    assert view.tolist() == x.T.tolist() and child.tolist() == x.T[0].tolist()
    part.realize()
    child += 100
    assert x.tolist() == [[99, -1, -1, -1], [104, 5, 6, 7], [108, 9, 10, 11], [112, 13, 14, 15]]
    part[0] = 0
    assert x.numpy()[:, 1].tolist() == [0, 0, 0, 0]


def test_overlapping_moves():
    x, expected = Tensor(numbered(8)), numbered(8)
    x[1:] = x[:-1]
    expected[1:] = expected[:-1].copy()
    x[:4] = x[:4].flip(0) + x[4:]
    expected[:4] = expected[:4][::-1].copy() + expected[4:]
    assert x.tolist() == expected.tolist()


def test_bits():
    x = Tensor([1.0, -2.0])
    x.bitcast("int32")[1] = 0x40400000
    assert x.tolist() == [1, 3]


# ---- gradients


def test_gradients_through_views():
    values = numbered(4, 3) + 1
    ours = None
    for library in (Tensor, torch.tensor):
        w = library(values, requires_grad=True)
        u = library([2.0, 3.0, 4.0], requires_grad=True)
        y = w * 2
        row, column = y[1], y.T[2]
        row *= u
        y[3:, :2] = 0
        column += 1
        (y * y + row.sum()).sum().backward()
        if ours is None:
            ours = w.grad.numpy(), u.grad.numpy()
    np.testing.assert_allclose(ours[0], w.grad.numpy())
    np.testing.assert_allclose(ours[1], u.grad.numpy())


def test_gradients_into_a_buffer():
    w = Tensor([1.0, 2.0], requires_grad=True)
    z = Tensor.zeros(3, 2)
    z[1] = w * 3
    z.T[1][2] = w[0]
    (z * numbered(3, 2)).sum().backward()
    assert w.grad.tolist() == [6 + 5, 9]


def test_views_of_marked_tensors():
    w = Tensor(numbered(2, 3), requires_grad=True)
    for change in (lambda: whole(w[0], 1), lambda: whole(w.T, 1), lambda: add(w.reshape(6)[1:], 1)):
        with pytest.raises(ValueError, match="requires grad"):
            change()
    with pytest.raises(ValueError, match="requires grad"):
        w += 1
    assert w.tolist() == numbered(2, 3).tolist()
    seen = w.T
    with doorbell.no_grad():
        w[0] = 5
        w.reshape(6)[3:].assign(7)
    w.detach()[0, 0] = 1
    assert w.tolist() == [[1, 5, 5], [7, 7, 7]] and w.is_leaf
    (seen * seen).sum().backward()
    assert w.grad.tolist() == [[2, 10, 10], [14, 14, 14]]


def test_detached_writes_pass_the_gradient_by():
    for library in (doorbell.Tensor, torch.tensor):
        w = library([1.0, 2.0, 3.0], requires_grad=True)
        y = w * 2
        y.detach()[0] = 9
        (y + 0).sum().backward()
        assert w.grad.tolist() == [2, 2, 2]
        assert y.tolist() == [9, 4, 6]
    w = Tensor([1.0], requires_grad=True)
    x = Tensor([1.0, 2.0])
    with pytest.raises(ValueError, match="detached view"):
        x.detach()[:1] = w * 2


# ---- captured functions


def test_captured_functions():
    cache, row = Tensor.zeros(4, 3).realize(), None
    row = cache[1]

    @jit
    def step(x):
        cache[0][1:] = x[:2]
        cache.T[0] += 1
        row.assign(row + x)
        return (cache + 0), row.sum()

    expected = np.zeros((4, 3), dtype=np.float32)
    for i in range(5):
        x = numbered(3) + i
        expected[0][1:] = x[:2]
        expected.T[0] += 1
        expected[1] += x
        whole_, total = step(Tensor(x))
        np.testing.assert_array_equal(whole_.numpy(), expected)
        np.testing.assert_array_equal(cache.numpy(), expected)
        np.testing.assert_array_equal(row.numpy(), expected[1])
        assert total.item() == expected[1].sum()
        if i == 3:  # between calls
            row[0] = 50
            expected[1, 0] = 50


def test_captured_functions_of_views():
    x, expected = Tensor(numbered(3, 4)).realize(), numbered(3, 4)

    @jit
    def change(view):
        view[1:] += 10
        return view.sum()

    for i in range(5):
        total = change(x[i % 3])
        expected[i % 3][1:] += 10
        assert total.item() == expected[i % 3].sum()
        np.testing.assert_array_equal(x.numpy(), expected)


def test_captured_functions_refuse_views_of_what_they_change():
    x = Tensor(numbered(3, 4)).realize()

    @jit
    def change(a, b):
        a += b
        return a.sum()

    with pytest.raises(ValueError, match="clone"):
        for _ in range(3):
            change(x[0], x[0])

    @jit
    def change_state(a):
        x[0] = a
        return (x + 0).sum()

    with pytest.raises(ValueError, match="clone"):
        for _ in range(3):
            change_state(x[1])


# ---- several devices


@pytest.mark.parametrize("axis", [None, 0, 1])
def test_on_several_devices(axis):
    for name in ("slice", "steps", "row", "transpose", "reshape", "chain", "diagonal", "detach"):
        x, expected = Tensor(numbered(4, 6)).shard(("CPU", "CPU:1"), axis), torch.tensor(numbered(4, 6))
        view, there = VIEWS[name](x), VIEWS[name](expected)
        view += 5
        there += 5
        np.testing.assert_array_equal(x.numpy(), expected.numpy(), err_msg=name)
        np.testing.assert_array_equal(view.numpy(), there.numpy(), err_msg=name)
        assert x.devices == ("CPU", "CPU:1") and x.shard_axis == axis, name
        x[1:3, 1:] = 2
        expected[1:3, 1:] = 2
        np.testing.assert_array_equal(view.numpy(), there.numpy(), err_msg=name)
