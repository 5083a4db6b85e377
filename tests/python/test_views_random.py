"""Random programs of views, reads and assignments, on a NumPy array and on a tensor."""
import numpy as np
import pytest

from comparing import Batch
from doorbell import Tensor


def random_view(rng, array, tensor):
    """A view of both, taken alike."""
    kind = int(rng.integers(8))
    if kind < 3 and array.ndim:
        axis = int(rng.integers(array.ndim))
        size = array.shape[axis]
        step = int(rng.choice([1, 1, 2, 3, -1, -2]))
        start, stop = sorted(int(b) for b in rng.integers(0, size + 1, 2))
        part = slice(start, stop, step) if step > 0 else slice(stop, start, step)
        index = (slice(None),) * axis + ((int(rng.integers(size)),) if kind == 0 and size else (part,))
        return array[(*index, ...)], tensor[index]  # without ... an element of NumPy's is a copy
    if kind == 3:
        order = rng.permutation(array.ndim).tolist()
        return array.transpose(order), tensor.permute(*order) if order else tensor
    if kind == 4:
        return array.T, tensor.T
    if kind == 5 and array.ndim < 5:
        axis = int(rng.integers(array.ndim + 1))
        return np.expand_dims(array, axis), tensor.unsqueeze(axis)
    if kind == 6 and array.ndim >= 2 and array.ndim < 5:
        offset = int(rng.integers(-1, 2))
        last = tensor.diagonal(offset, 0, 1)
        there = array.diagonal(offset, 0, 1)
        there.flags.writeable = True
        return there, last
    if array.flags.c_contiguous and array.size:
        return array.reshape(-1), tensor.reshape(-1)
    return array, tensor


def random_program(rng):
    shape = tuple(int(n) for n in rng.integers(1, 6, int(rng.integers(1, 4))))
    array = rng.integers(-9, 9, shape).astype(np.float32)
    tensor = Tensor(array.copy())
    if rng.random() < 0.3:
        array, tensor = array * 2, tensor * 2
    held, kept = [(array, tensor)], []
    for _ in range(int(rng.integers(4, 14))):
        a, t = held[int(rng.integers(len(held)))]
        kind = rng.random()
        if kind < 0.4:
            held.append(random_view(rng, a, t))
        elif kind < 0.5:
            kept.append((a + 1, t + 1))
        elif kind < 0.6:
            t.realize()
        elif kind < 0.65 and len(held) > 2:
            held.pop(int(rng.integers(len(held))))
        elif kind < 0.8:
            value = rng.integers(-9, 9, a.shape[1:] if a.ndim else ()).astype(np.float32)
            a[...] = value
            t[...] = Tensor(value)
        elif kind < 0.9:
            a += 3
            t += 3
        else:
            source, ours = held[int(rng.integers(len(held)))]
            if source.shape == a.shape:
                a[...] = source * 2
                t.assign(ours * 2)
    return held + kept


@pytest.mark.parametrize("seed", range(40))
def test_random_programs(seed):
    rng, batch = np.random.default_rng(seed), Batch()
    for number in range(6):
        for i, (array, tensor) in enumerate(random_program(rng)):
            batch.add(tensor, array, f"seed {seed}, program {number}, tensor {i}")
    batch.check()
