"""Gradients from Python: of what was left out, and of leaves that are written. Values at edges are conformance's."""
import pytest

import doorbell
from doorbell import Tensor


@pytest.mark.parametrize("function", [
    lambda x: x ** 0, lambda x: x[:0], lambda x: x[1:1] * 2, lambda x: x.repeat(0), lambda x: x[:0].prod(),
    lambda x: x.sign(), lambda x: x.floor(), lambda x: Tensor([3.0, -4.0]).copysign(x), lambda x: x[[]],
], ids=str)
def test_flat_functions_fill_zeros(function):
    x = Tensor([1.5, -2.0], requires_grad=True)
    function(x).sum().backward()
    assert x.grad.tolist() == [0.0, 0.0]


def test_targets_outside_the_graph_have_zeros():
    x, unused = Tensor([1.0, 2.0], requires_grad=True), Tensor([[3.0, 4.0]])
    gradients = (x * x).sum().gradient(x, unused)
    assert [gradient.tolist() for gradient in gradients] == [[2.0, 4.0], [[0.0, 0.0]]]
    none = Tensor.zeros(0, 2, requires_grad=True)
    (none * 2).sum().backward()
    assert none.grad.shape == (0, 2)


def test_writing_into_a_leaf_is_refused():
    x = Tensor([1.0, 2.0], requires_grad=True)
    z = Tensor.zeros(3, requires_grad=True)
    message = r"a leaf of shape \(3\) that requires grad is written"
    with pytest.raises(ValueError, match=message):
        z[:2] = x
    with pytest.raises(ValueError, match=message):
        z[:2] += x
    with pytest.raises(ValueError, match=message):
        z += 1
    with pytest.raises(ValueError, match=message):
        z[z == 0] = 5
    assert z.tolist() == [0.0, 0.0, 0.0] and z.is_leaf
    with doorbell.no_grad():
        z[:2] += x
    assert z.tolist() == [1.0, 2.0, 0.0] and z.is_leaf
    y = z.clone()
    y[:2] = x * 3
    y.sum().backward()
    assert x.grad.tolist() == [3.0, 3.0] and z.grad.tolist() == [0.0, 0.0, 1.0]
