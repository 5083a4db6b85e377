"""Functions at the top of the module: those of PyTorch and NumPy by their names, which are methods of Tensor."""
import math
import re

import numpy as np
import pytest

import doorbell
from doorbell import Tensor, dtypes, functions

X = Tensor([[3.0, 1.0, 2.0], [0.5, 5.0, 4.0]])

# Methods that are no functions elsewhere, or mean another thing there.
METHODS_ONLY = {
    "T", "data", "dim", "size", "type", "to", "to_", "cpu", "cast", "bitcast", "bool", "short", "int", "long", "half",
    "bfloat16", "float", "double", "element_size", "needs_grad", "shard", "shard_", "shard_like", "contiguous",
    "contiguous_backward", "max_numel", "view", "expand", "shrink", "shrink_to", "pad_to", "rearrange", "sequential",
    "usum", "uprod", "threefry", "lshift", "rshift", "keccak", "hash", "newton_schulz", "const_like", "from_blob",
    "from_bytes", "from_url", "random_bits", "scaled_uniform", "glorot_uniform", "kaiming_uniform", "kaiming_normal",
    "uniform", "randint", "binary_crossentropy", "binary_crossentropy_logits", "sparse_categorical_crossentropy",
    "layernorm", "batchnorm", "quick_gelu", "swish", "linear", "conv1d", "conv2d", "conv_transpose2d", "max_pool2d",
    "max_unpool2d", "avg_pool2d", "interpolate", "dropout", "scaled_dot_product_attention", "cross_entropy", "nll_loss",
    "mse_loss", "l1_loss", "huber_loss", "smooth_l1_loss", "kl_div", "normalize", "one_hot", "repeat", "unfold", "ger",
    "realize", "is_realized", "assign", "replace", "requires_grad_", "backward", "gradient", "zero_grad", "item",
    "tolist", "numpy", "visualize", "is_leaf", "grad", "to_device",
    "is_contiguous",
}


def test_every_method_is_a_function_or_said_not_to_be():
    methods = {name for name in vars(Tensor) if not name.startswith("_") and callable(getattr(Tensor, name))}
    assert sorted(methods - METHODS_ONLY - set(vars(functions))) == []


@pytest.mark.parametrize("name", sorted(name for name in vars(functions) if not name.startswith("_")))
def test_functions_are_at_the_top(name):
    if name != "annotations":
        assert getattr(doorbell, name) is getattr(functions, name)


def test_as_pytorch_and_numpy_users_type_them():
    assert doorbell.zeros(2, 3).shape == doorbell.ones((2, 3)).shape == doorbell.full((2, 3), 1.0).shape == (2, 3)
    assert doorbell.cat([X, X], dim=1).shape == doorbell.concatenate([X, X], axis=1).shape == (2, 6)
    assert doorbell.stack([X, X]).shape == (2, 2, 3)
    assert doorbell.where(X > 2, X, 0.0).tolist() == [[3, 0, 0], [0, 5, 4]]
    assert doorbell.arange(3).tolist() == [0, 1, 2] and doorbell.linspace(0, 1, 3).tolist() == [0, 0.5, 1]
    assert doorbell.sum(X, dim=0).tolist() == X.sum(0).tolist() and doorbell.max(X, axis=1).tolist() == [3, 5]
    assert doorbell.einsum("ij,kj->ik", X, X).shape == (2, 2)
    assert doorbell.matmul(X, X.T).shape == (2, 2) and doorbell.transpose(X, 0, 1).shape == (3, 2)
    assert doorbell.randint(3, 4, (2, 2)).tolist() == [[3, 3], [3, 3]]
    assert doorbell.randint(1, (3,)).tolist() == [0, 0, 0]
    assert doorbell.tensor([1.5]).dtype == doorbell.float32 == doorbell.float == dtypes.float32
    assert doorbell.zeros(2, dtype=doorbell.int64).dtype == doorbell.long
    assert doorbell.pi == math.pi and X[doorbell.newaxis].shape == (1, 2, 3)


def test_asarray():
    assert doorbell.asarray(X) is X and doorbell.asarray(X, copy=True) is not X
    assert doorbell.asarray([1, 2], dtype="int8").dtype == dtypes.int8
    assert doorbell.as_tensor(np.ones(2)).dtype == dtypes.float64
    assert doorbell.asarray(X, dtype="float64").dtype == dtypes.float64


def test_printing():
    torch = pytest.importorskip("torch", reason="PyTorch is not installed")
    values = [[1 / 3, 2.5, -1000.125], [4e-3, 5.0, 6.0]]
    try:
        for options in ({}, {"precision": 2}, {"sci_mode": True}, {"sci_mode": False, "precision": 6},
                        {"linewidth": 20}, {"profile": "short"}, {"threshold": 3, "edgeitems": 1}, {"profile": "full"}):
            doorbell.set_printoptions(profile="default")
            torch.set_printoptions(profile="default", sci_mode=None)
            doorbell.set_printoptions(**options)
            torch.set_printoptions(**options)
            # PyTorch puts two blanks before an ellipsis, and names int32, which is not its default.
            assert str(Tensor(values)) == str(torch.tensor(values)).replace(",  ...", ", ..."), options
            line = str(torch.tensor(list(range(1200)), dtype=torch.int32))
            line = re.sub(r",\s+dtype=torch.int32", "", line)
            assert str(Tensor(list(range(1200)))) == line.replace(",  ...", ", ..."), options
        assert doorbell.get_printoptions()["threshold"] > 2**60
        doorbell.set_printoptions(profile="default", threshold=math.inf)
        assert "..." not in str(Tensor.arange(2000))
        with pytest.raises(ValueError, match="precision -1"):
            doorbell.set_printoptions(precision=-1)
    finally:
        doorbell.set_printoptions(profile="default")
        torch.set_printoptions(profile="default", sci_mode=None)
