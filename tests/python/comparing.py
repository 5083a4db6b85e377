"""What the tests of the surface share: inputs, and comparing many results at once with those of NumPy or PyTorch."""
import numpy as np

from doorbell import Tensor

SHAPES = [(), (3,), (17,), (2, 3), (4, 1, 5), (2, 3, 4), (0,), (3, 0, 2)]
TOLERANCE = {"float16": (2e-3, 2e-3), "bfloat16": (2e-2, 2e-2), "float32": (2e-5, 2e-5), "float64": (1e-9, 1e-9)}


def numbers(rng, shape, dtype, low=-3.0, high=3.0):
    """Random numbers: of bools and integers small ones."""
    if dtype == "bool":
        return rng.integers(0, 2, shape).astype(bool)
    if dtype.startswith(("int", "uint")):
        least = max(int(np.floor(low)), 0) if dtype.startswith("uint") else int(np.floor(low))
        return rng.integers(least, max(int(np.ceil(high)), least) + 1, shape).astype(dtype)
    return rng.uniform(low, high, shape).astype(dtype)


class Batch:
    """Collects (ours, expected) and compares all of them: computing many at once compiles their kernels at once."""

    def __init__(self):
        self.pairs = []

    def add(self, ours, expected, what, tolerance=None):
        self.pairs.append((ours, np.asarray(expected), what, tolerance))

    def check(self, same_dtype=False):
        tensors = [ours for ours, *_ in self.pairs]
        if tensors:
            tensors[0].realize(*tensors[1:])
        for ours, expected, what, tolerance in self.pairs:
            assert ours.shape == expected.shape, f"{what}: shape {ours.shape}, expected {expected.shape}"
            got = ours.numpy()
            if same_dtype:
                assert got.dtype == expected.dtype, f"{what}: {got.dtype}, expected {expected.dtype}"
            if expected.dtype == bool or np.issubdtype(expected.dtype, np.integer):
                np.testing.assert_array_equal(got, expected, err_msg=what)
                continue
            rtol, atol = tolerance or TOLERANCE[str(got.dtype)] if got.dtype.kind == "f" else (0, 0)
            np.testing.assert_allclose(got, expected, rtol=rtol, atol=atol, err_msg=what, equal_nan=True)
        return len(self.pairs)


def numpy_of(tensor):
    """Of a tensor of PyTorch."""
    return tensor.detach().numpy()


def leaf(array):
    return Tensor(array, requires_grad=True)
