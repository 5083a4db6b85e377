"""Layers, models and jitted functions through pickle, copy and deepcopy."""
import copy
import pickle

import numpy as np
import pytest

import doorbell
from doorbell import Tensor, jit, nn

LAYERS = {
    "linear": (lambda: nn.Linear(3, 2), (4, 3)),
    "linear_plain": (lambda: nn.Linear(3, 2, bias=False), (4, 3)),
    "conv2d": (lambda: nn.Conv2d(2, 4, 3, stride=2, padding=1, dilation=2, groups=2), (1, 2, 9, 9)),
    "conv2d_same": (lambda: nn.Conv2d(2, 4, (3, 5), padding="same", bias=False), (1, 2, 9, 9)),
    "conv1d": (lambda: nn.Conv1d(2, 4, 3), (1, 2, 9)),
    "conv_transpose2d": (lambda: nn.ConvTranspose2d(4, 2, 3, stride=2, output_padding=1, groups=2), (1, 4, 3, 3)),
    "conv_transpose1d": (lambda: nn.ConvTranspose1d(4, 2, 3), (1, 4, 5)),
    "batch_norm": (lambda: nn.BatchNorm2d(3, eps=1e-3, momentum=0.2), (2, 3, 4, 4)),
    "batch_norm_plain": (lambda: nn.BatchNorm2d(3, affine=False, track_running_stats=False), (2, 3, 4, 4)),
    "layer_norm": (lambda: nn.LayerNorm((2, 3), eps=1e-3, bias=False), (4, 2, 3)),
    "layer_norm_2d": (lambda: nn.LayerNorm2d(3), (1, 3, 2, 2)),
    "group_norm": (lambda: nn.GroupNorm(2, 4), (1, 4, 3)),
    "instance_norm": (lambda: nn.InstanceNorm(3, affine=True), (1, 3, 5)),
    "rms_norm": (lambda: nn.RMSNorm(3, eps=1e-3), (2, 3)),
    "rms_norm_plain": (lambda: nn.RMSNorm(3, elementwise_affine=False), (2, 3)),
    "lstm_cell": (lambda: nn.LSTMCell(3, 2), (4, 3)),
    "gru_cell": (lambda: nn.GRUCell(3, 2, bias=False), (4, 3)),
    "rnn_cell": (lambda: nn.RNNCell(3, 2, nonlinearity="relu"), (4, 3)),
    "lstm": (lambda: nn.LSTM(3, 2, num_layers=2, bidirectional=True, batch_first=True), (4, 2, 3)),
    "lstm_projected": (lambda: nn.LSTM(3, 4, proj_size=2), (4, 2, 3)),
    "gru": (lambda: nn.GRU(3, 2, bias=False), (4, 2, 3)),
    "rnn": (lambda: nn.RNN(3, 2, nonlinearity="relu"), (4, 2, 3)),
    "dropout": (lambda: nn.Dropout(0.25), (4, 3)),
    "sequential": (lambda: nn.Sequential(nn.Linear(3, 2), nn.ReLU(), nn.Sequential(nn.Linear(2, 2))), (4, 3)),
}
WAYS = {"pickle": lambda value: pickle.loads(pickle.dumps(value)), "deepcopy": copy.deepcopy, "copy": copy.copy}


def first(value):
    return first(value[0]) if isinstance(value, tuple) else value.numpy()


@pytest.mark.parametrize("way", WAYS)
@pytest.mark.parametrize("name", LAYERS)
def test_layers(name, way):
    make, shape = LAYERS[name]
    layer = make()
    for tensor in layer.state_dict().values() if hasattr(layer, "state_dict") else ():
        if tensor.is_leaf:  # not as it was made
            with doorbell.no_grad():
                tensor.assign(tensor + 0.5)
    again = WAYS[way](layer)
    assert type(again) is type(layer) and repr(again) == repr(layer)
    assert list(again.state_dict()) == list(layer.state_dict())
    x = Tensor(np.random.default_rng(1).normal(size=shape).astype(np.float32))
    before = first(layer(x)).copy()
    np.testing.assert_allclose(first(again(x)), before, rtol=1e-6, atol=1e-6)
    for ours, theirs in zip(again.state_dict().values(), layer.state_dict().values()):
        assert ours.is_leaf == theirs.is_leaf and ours.dtype == theirs.dtype
        with doorbell.no_grad():
            ours.assign(ours * 0)
        shares = bool((theirs == 0).all().item())
        assert shares == (way == "copy") or not ours.is_leaf


def test_attention():
    layer = nn.MultiheadAttention(4, 2, add_bias_kv=True, add_zero_attn=True, kdim=3, vdim=3, batch_first=True)
    x, y = Tensor.rand(1, 2, 4), Tensor.rand(1, 5, 3)
    for way in WAYS.values():
        again = way(layer)
        assert repr(again) == repr(layer)
        np.testing.assert_allclose(again(x, y, y)[0].numpy(), layer(x, y, y)[0].numpy(), rtol=1e-6)


class Scaled(nn.Linear):
    def __init__(self, scale):
        super().__init__(2, 2)
        self.scale, self.owner = Tensor([scale]), self

    def __call__(self, x):
        return super().__call__(x) * self.scale


def test_subclasses_keep_their_attributes():
    layer = Scaled(3.0)
    layer.bias = None
    for way in ("pickle", "deepcopy"):
        again = WAYS[way](layer)
        assert type(again) is Scaled and again.owner is again and again.bias is None
        assert list(again.state_dict()) == ["weight", "scale"]
        np.testing.assert_allclose(again(Tensor.ones(1, 2)).numpy(), layer(Tensor.ones(1, 2)).numpy(), rtol=1e-6)


def test_tied_weights_stay_tied():
    embedding, head = nn.Embedding(4, 3), nn.Linear(3, 4, bias=False)
    head.weight = embedding.weight
    for way in ("pickle", "deepcopy"):
        one, other = WAYS[way]((embedding, head))
        other.weight.assign(Tensor.zeros(4, 3))
        assert (one.weight == 0).all().item() and not (embedding.weight == 0).all().item()


def test_unpickling_draws_no_random_numbers():
    text = pickle.dumps(nn.Linear(2, 2))
    Tensor.manual_seed(3)
    expected = Tensor.rand(4).tolist()
    Tensor.manual_seed(3)
    pickle.loads(text)
    assert Tensor.rand(4).tolist() == expected


def plain(x):
    return x * 2 + 1


@jit
def decorated(x):
    return x * 3


class Model:
    @jit
    def run(self, x):
        return x * 5


def test_jitted_functions_are_captured_anew():
    wrapped = jit(plain, name="plain")
    for function in (wrapped, decorated):
        for _ in range(3):
            expected = function(Tensor([2.0])).item()
    for way in WAYS.values():
        again = way(wrapped)
        assert again is not wrapped and again.function is plain and not again.is_captured
        assert [again(Tensor([2.0])).item() for _ in range(3)] == [5.0] * 3 and again.is_captured
        assert way(decorated) is decorated and expected == 6.0
        assert way(Model.run) is Model.run
    assert wrapped.is_captured
