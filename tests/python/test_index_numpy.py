"""Brackets against NumPy: hundreds of random indices of every kind, read and assigned to."""
import numpy as np
import pytest

import doorbell
from comparing import Batch
from doorbell import Tensor

SHAPES = [(5,), (3, 4), (2, 3, 4), (4, 1, 3), (2, 2, 3, 2)]


def random_slice(rng, size):
    def bound():
        return None if rng.random() < 0.3 else int(rng.integers(-size - 2, size + 3))
    return slice(bound(), bound(), None if rng.random() < 0.5 else int(rng.choice([1, 2, 3, -1, -2])))


def random_basic(rng, shape):
    """Integers, slices, None and ... for some or all axes."""
    index, axis = [], 0
    skipped = rng.random() < 0.4
    ellipsis_at = int(rng.integers(0, len(shape) + 1)) if skipped else -1
    keep = int(rng.integers(0, len(shape) + 1)) if skipped else int(rng.integers(1, len(shape) + 1))
    for _ in range(keep):
        if len(index) == ellipsis_at:
            index.append(Ellipsis)
            axis = len(shape) - (keep - len([item for item in index if item is not Ellipsis and item is not None]))
        if rng.random() < 0.15:
            index.append(None)
        size = shape[axis]
        index.append(int(rng.integers(-size, size)) if rng.random() < 0.4 else random_slice(rng, size))
        axis += 1
    if skipped and Ellipsis not in index:
        index.append(Ellipsis)
    return tuple(index) if len(index) != 1 or rng.random() < 0.5 else index[0]


def random_advanced(rng, shape):
    """One axis, or two, picked from by lists and arrays; slices and integers for others."""
    index = []
    count = int(rng.integers(1, 4))
    for size in shape[:int(rng.integers(1, len(shape) + 1))]:
        kind = rng.random()
        if kind < 0.5:
            picks = rng.integers(-size, size, count)
            index.append(picks.tolist() if rng.random() < 0.5 else picks)
        elif kind < 0.8:
            index.append(random_slice(rng, size))
        else:
            index.append(rng.integers(-size, size, (2, count)) if rng.random() < 0.3 else slice(None))
    return tuple(index)


def as_ours(index):
    """The same index with tensors in the place of arrays."""
    if isinstance(index, tuple):
        return tuple(as_ours(item) for item in index)
    return Tensor(index) if isinstance(index, np.ndarray) else index


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("kind", [random_basic, random_advanced])
def test_reading(seed, kind):
    rng = np.random.default_rng(seed)
    batch = Batch()
    for _ in range(40):
        shape = SHAPES[int(rng.integers(len(SHAPES)))]
        array = np.arange(np.prod(shape), dtype=np.int32).reshape(shape)
        index = kind(rng, shape)
        batch.add(Tensor(array)[as_ours(index)], array[index], f"{shape}[{index}]")
    assert batch.check() == 40


@pytest.mark.parametrize("seed", range(12))
@pytest.mark.parametrize("kind", [random_basic, random_advanced])
def test_assigning(seed, kind):
    rng = np.random.default_rng(100 + seed)
    batch = Batch()
    for case in range(25):
        shape = SHAPES[int(rng.integers(len(SHAPES)))]
        array = np.arange(np.prod(shape), dtype=np.float32).reshape(shape)
        index = kind(rng, shape)
        tensor = Tensor(array.copy())
        before = tensor + 0
        picked = array[index]
        value = -1.5 if case % 3 == 0 else rng.uniform(size=picked.shape).astype(np.float32)
        if case % 3 == 1 and picked.ndim > 1:
            value = value[:1]  # broadcasts
        # Where a place is named twice, which value stays is NumPy's secret.
        flat = np.arange(array.size).reshape(shape)[index]
        if np.unique(flat).size != flat.size:
            value = -1.5
        expected = array.copy()
        expected[index] = value
        tensor[as_ours(index)] = Tensor(value) if isinstance(value, np.ndarray) and case % 2 else value
        batch.add(tensor, expected, f"{shape}[{index}] = {value}")
        batch.add(before, array, "what was computed before keeps the old value")
    batch.check()


@pytest.mark.parametrize("seed", range(20))
def test_masks(seed):
    rng = np.random.default_rng(200 + seed)
    shape = SHAPES[seed % len(SHAPES)]
    array = rng.integers(-9, 9, shape).astype(np.int32)
    axes = int(rng.integers(1, len(shape) + 1))
    mask = rng.random(shape[:axes]) < 0.4
    tensor = Tensor(array)
    np.testing.assert_array_equal(tensor[Tensor(mask)].numpy(), array[mask])
    np.testing.assert_array_equal(tensor[mask].numpy(), array[mask])
    np.testing.assert_array_equal(tensor[mask.tolist()].numpy(), array[mask])
    np.testing.assert_array_equal(tensor[tensor > 2].numpy(), array[array > 2])
    expected = array.copy()
    expected[mask] = 7
    tensor[mask] = 7
    np.testing.assert_array_equal(tensor.numpy(), expected)
    expected[expected > 5] *= -1
    tensor[tensor > 5] *= -1
    np.testing.assert_array_equal(tensor.numpy(), expected)


def test_operators_in_place_through_brackets():
    array = np.arange(12, dtype=np.float32).reshape(3, 4)
    tensor = Tensor(array)
    for index in (0, (slice(None), 1), (Ellipsis, -1), (1, [0, 2])):
        array[index] += 10
        tensor[index] += 10
    array[1:] *= 2
    tensor[1:] *= 2
    np.testing.assert_array_equal(tensor.numpy(), array)


def test_gradients_through_brackets():
    w = Tensor(np.arange(6, dtype=np.float32).reshape(2, 3), requires_grad=True)
    (w[1, ::2] * Tensor([10.0, 20.0])).sum().backward()
    assert w.grad.tolist() == [[0.0, 0.0, 0.0], [10.0, 0.0, 20.0]]
    w.grad = None
    w[[0, 0, 1], [1, 1, 2]].sum().backward()
    assert w.grad.tolist() == [[0.0, 2.0, 0.0], [0.0, 0.0, 1.0]]


def test_what_cannot_be_meant():
    x = Tensor.zeros(2, 3)
    for bad in (2, (0, 3), (0, 0, 0), (-3,), [5], (Ellipsis, 3)):
        with pytest.raises(IndexError):
            x[bad]
        with pytest.raises(IndexError):
            x[bad] = 1
    with pytest.raises(IndexError):
        x[[True, False, True]]
    for bad in ("a", 1.5, {}, object()):
        with pytest.raises((TypeError, IndexError)):
            x[bad]
    with pytest.raises(ValueError):
        x[0] = [1.0, 2.0]
    with pytest.raises(ValueError):
        x[..., ::0]
    assert isinstance(doorbell.Error("x"), Exception)
