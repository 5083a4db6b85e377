"""Products of matrices and vectors."""
import numpy as np
import pytest

from doorbell import Tensor, array_api as xp
from drawing import DRAWS, NUMERIC, Draw, check


def operands(draw, dtype, *shapes):
    return [draw.rng.integers(0, 4, shape).astype(dtype) for shape in shapes]


@pytest.mark.parametrize("dtype", NUMERIC)
def test_matmul(dtype):
    for number in range(DRAWS):
        draw = Draw("matmul" + dtype, number)
        m, n, k, b = (int(size) for size in draw.rng.integers(0, 5, 4))
        for shapes in (((m, k), (k, n)), ((b, m, k), (k, n)), ((b, 1, m, k), (3, k, n)), ((k,), (k, n)), ((m, k), (k,)),
                       ((k,), (k,)), ((k,), (b, k, n)), ((b, m, k), (k,))):
            arrays = operands(draw, dtype, *shapes)
            check("matmul", *arrays)
            np.testing.assert_array_equal((Tensor(arrays[0]) @ Tensor(arrays[1])).numpy(), arrays[0] @ arrays[1])


@pytest.mark.parametrize("dtype", NUMERIC)
def test_vecdot(dtype):
    for number in range(DRAWS):
        draw = Draw("vecdot" + dtype, number)
        m, k = (int(size) for size in draw.rng.integers(0, 5, 2))
        for shapes in (((k,), (k,)), ((m, k), (k,)), ((m, k), (3, 1, k))):
            check("vecdot", *operands(draw, dtype, *shapes))
        check("vecdot", *operands(draw, dtype, (k, m), (k, m)), axis=-2)


@pytest.mark.parametrize("dtype", NUMERIC)
def test_tensordot(dtype):
    for number in range(DRAWS):
        draw = Draw("tensordot" + dtype, number)
        m, n, k = (int(size) for size in draw.rng.integers(0, 4, 3))
        check("tensordot", *operands(draw, dtype, (m, n, k), (n, k, 2)))
        check("tensordot", *operands(draw, dtype, (m, k), (k, n)), axes=1)
        check("tensordot", *operands(draw, dtype, (m, k), (n,)), axes=0)
        check("tensordot", *operands(draw, dtype, (m, n, k), (k, 2, m)), axes=((0, 2), (2, 0)))
        check("tensordot", *operands(draw, dtype, (m, k), (n, k)), axes=((-1,), (-1,)))


def test_what_is_refused():
    x = Tensor([[1, 2], [3, 4]])
    for call in (lambda: xp.matmul(x, Tensor(2)), lambda: xp.matmul(x, Tensor([1, 2, 3])),
                 lambda: xp.vecdot(x, Tensor([1, 2, 3])), lambda: xp.tensordot(x, Tensor([1, 2, 3]), axes=1)):
        with pytest.raises(ValueError):
            call()
