"""Recurrent networks, attention and layers without weights: PyTorch's values and gradients from its state dicts."""
import copy
import pickle

import numpy as np
import pytest

import doorbell
from doorbell import Tensor, nn

torch = pytest.importorskip("torch", reason="PyTorch is not installed: scripts/test --torch")

RNG = np.random.default_rng(5)


def noise(*shape):
    return RNG.normal(size=shape).astype(np.float32)


def near(ours, theirs, what=""):
    np.testing.assert_allclose(ours.numpy(), theirs.detach().numpy(), rtol=1e-4, atol=1e-5, err_msg=what)


def compare(ours, theirs, arrays, call=lambda layer, *x: layer(*x)):
    """Results and gradients, with the weights of PyTorch's layer."""
    nn.state.load_state_dict(ours, theirs.state_dict())
    x = [Tensor(array, requires_grad=True) for array in arrays]
    y = [torch.tensor(array, requires_grad=True) for array in arrays]
    mine, wanted = flat(call(ours, *x)), flat(call(theirs, *y))
    assert len(mine) == len(wanted)
    for a, b in zip(mine, wanted):
        near(a, b, "result")
    sum((a * a).sum() for a in mine).backward()
    sum((b * b).sum() for b in wanted).backward()
    for a, b in zip(x, y):
        near(a.grad, b.grad, "gradient of an input")
    for name, p in theirs.named_parameters():
        near(ours.state_dict()[name].grad, p.grad, f"gradient of {name}")


def flat(value):
    return [tensor for item in value for tensor in flat(item)] if isinstance(value, tuple) else [value]


@pytest.mark.parametrize("options", [
    {}, dict(num_layers=3), dict(bidirectional=True, num_layers=2), dict(batch_first=True), dict(bias=False)], ids=str)
@pytest.mark.parametrize("name", ["LSTM", "GRU", "RNN"])
def test_recurrent_networks(name, options):
    ours, theirs = getattr(nn, name)(4, 3, **options), getattr(torch.nn, name)(4, 3, **options)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    compare(ours, theirs, [noise(5, 2, 4)])
    compare(ours, theirs, [noise(5, 4)])
    rows = options.get("num_layers", 1) * (2 if "bidirectional" in options else 1)
    state = [noise(rows, 5 if "batch_first" in options else 2, 3) for _ in range(2 if name == "LSTM" else 1)]
    compare(ours, theirs, [noise(5, 2, 4), *state],
            lambda layer, x, *hx: layer(x, hx if name == "LSTM" else hx[0]))


@pytest.mark.parametrize("options", [{}, dict(num_layers=2, bidirectional=True), dict(bias=False, batch_first=True)],
                         ids=str)
def test_lstm_with_projections(options):
    ours, theirs = nn.LSTM(4, 3, proj_size=2, **options), torch.nn.LSTM(4, 3, proj_size=2, **options)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    compare(ours, theirs, [noise(5, 2, 4)])
    compare(ours, theirs, [noise(5, 4)])
    rows = options.get("num_layers", 1) * (2 if "bidirectional" in options else 1)
    batch = 5 if "batch_first" in options else 2
    compare(ours, theirs, [noise(5, 2, 4), noise(rows, batch, 2), noise(rows, batch, 3)],
            lambda layer, x, *hx: layer(x, hx))
    assert "proj_size=2" in repr(ours) and ours.weight_hr_l0.shape == (2, 3)


def test_recurrent_relu_and_cells():
    compare(nn.RNN(4, 3, nonlinearity="relu"), torch.nn.RNN(4, 3, nonlinearity="relu"), [noise(5, 2, 4)])
    for name in ("GRUCell", "RNNCell"):
        compare(getattr(nn, name)(4, 3), getattr(torch.nn, name)(4, 3), [noise(2, 4), noise(2, 3)])
        compare(getattr(nn, name)(4, 3, bias=False), getattr(torch.nn, name)(4, 3, bias=False), [noise(2, 4)])


@pytest.mark.parametrize("options", [
    {}, dict(bias=False), dict(batch_first=True), dict(kdim=3, vdim=5), dict(add_bias_kv=True),
    dict(add_zero_attn=True), dict(add_bias_kv=True, add_zero_attn=True, kdim=3, vdim=5, batch_first=True)], ids=str)
def test_multihead_attention(options):
    ours, theirs = nn.MultiheadAttention(6, 2, **options), torch.nn.MultiheadAttention(6, 2, **options)
    assert set(ours.state_dict()) == set(theirs.state_dict())
    kdim, vdim = options.get("kdim", 6), options.get("vdim", 6)
    arrays = [noise(4, 2, 6), noise(5, 2, kdim), noise(5, 2, vdim)]
    if "batch_first" in options:
        arrays = [array.swapaxes(0, 1).copy() for array in arrays]
    compare(ours, theirs, arrays)
    compare(ours, theirs, arrays, lambda layer, *x: layer(*x, average_attn_weights=False))
    compare(ours, theirs, arrays, lambda layer, *x: layer(*x, need_weights=False)[0])
    compare(ours, theirs, [noise(4, 6), noise(5, kdim), noise(5, vdim)])


@pytest.mark.parametrize("options", [{}, dict(add_bias_kv=True, add_zero_attn=True)], ids=str)
def test_masks_of_attention(options):
    ours, theirs = nn.MultiheadAttention(6, 2, **options), torch.nn.MultiheadAttention(6, 2, **options)
    arrays = [noise(4, 2, 6), noise(4, 2, 6), noise(4, 2, 6)]
    causal = np.triu(np.ones((4, 4), bool), 1)
    padding = np.array([[False, False, True, False], [False, False, False, True]])
    by_head = RNG.normal(size=(4, 4, 4)).astype(np.float32)

    def call(layer, *x, **masks):
        make = Tensor if isinstance(x[0], Tensor) else torch.tensor
        return layer(*x, **{name: make(mask) for name, mask in masks.items()})

    for masks in (dict(attn_mask=causal), dict(key_padding_mask=padding), dict(attn_mask=by_head),
                  dict(attn_mask=causal, key_padding_mask=padding)):
        compare(ours, theirs, arrays, lambda layer, *x, masks=masks: call(layer, *x, **masks))
    x = Tensor(arrays[0])
    near(ours(x, x, x, is_causal=True)[0],
         theirs(*[torch.tensor(arrays[0])] * 3, attn_mask=torch.tensor(causal))[0])


PLAIN = ["Identity()", "ReLU()", "ReLU6()", "GELU()", "GELU(approximate='tanh')", "SiLU()", "Mish()", "Tanh()",
         "Sigmoid()", "LogSigmoid()", "Hardsigmoid()", "Hardswish()", "SELU()", "Softsign()", "LeakyReLU()",
         "LeakyReLU(0.2)", "ELU(0.5)", "CELU(1.5)", "Softplus(2.0)", "Hardtanh(-0.5, 2.0)", "Softmax(1)",
         "LogSoftmax(dim=-1)", "Flatten()", "Flatten(2)", "Unflatten(1, (2, 3))", "MaxPool2d(2)",
         "MaxPool2d((2, 3), stride=1, padding=1)", "AvgPool2d(3, 2, count_include_pad=False, padding=1)",
         "AvgPool2d(2, ceil_mode=True)", "AdaptiveAvgPool2d(1)", "AdaptiveAvgPool2d((3, 2))"]


@pytest.mark.parametrize("text", PLAIN)
def test_layers_without_weights(text):
    ours, theirs = eval(f"nn.{text}"), eval(f"torch.nn.{text}")  # pylint: disable=eval-used
    array = noise(2, 6, 5, 7)
    near(ours(Tensor(array)), theirs(torch.tensor(array)))
    assert pickle.loads(pickle.dumps(ours)) == ours == copy.deepcopy(ours) and eval(f"nn.{ours!r}") == ours


def test_pools_of_other_axes():
    for axes, shape in ((1, (2, 3, 9)), (3, (1, 2, 4, 6, 5))):
        for kind in ("MaxPool", "AvgPool"):
            array = noise(*shape)
            near(getattr(nn, f"{kind}{axes}d")(2)(Tensor(array)), getattr(torch.nn, f"{kind}{axes}d")(2)(
                torch.tensor(array)))


LOGITS, LABELS, OTHERS = noise(4, 3), np.array([0, 2, 1, 1]), noise(4, 3)
LOSSES = [("MSELoss()", OTHERS), ("MSELoss(reduction='sum')", OTHERS), ("L1Loss()", OTHERS),
          ("SmoothL1Loss(beta=0.5)", OTHERS), ("HuberLoss(delta=0.7)", OTHERS), ("CrossEntropyLoss()", LABELS),
          ("CrossEntropyLoss(label_smoothing=0.1, reduction='none')", LABELS), ("NLLLoss()", LABELS),
          ("BCEWithLogitsLoss()", (OTHERS > 0).astype(np.float32)), ("KLDivLoss(reduction='sum')", np.abs(OTHERS))]


@pytest.mark.parametrize("text, target", LOSSES, ids=[text for text, _ in LOSSES])
def test_losses(text, target):
    ours, theirs = eval(f"nn.{text}"), eval(f"torch.nn.{text}")  # pylint: disable=eval-used
    near(ours(Tensor(LOGITS), Tensor(target)), theirs(torch.tensor(LOGITS), torch.tensor(target)))


@pytest.mark.parametrize("norm_type", [2.0, 1.0, 3.0, float("inf")])
def test_clipping(norm_type):
    arrays, grads = [noise(3, 2), noise(4)], [noise(3, 2), noise(4)]
    ours = [Tensor(a, requires_grad=True) for a in arrays]
    theirs = [torch.tensor(a, requires_grad=True) for a in arrays]
    for most in (0.5, 100.0):
        for a, b, g in zip(ours, theirs, grads):
            a.grad, b.grad = Tensor(g), torch.tensor(g)
        near(nn.utils.clip_grad_norm_(ours, most, norm_type), torch.nn.utils.clip_grad_norm_(theirs, most, norm_type))
        for a, b in zip(ours, theirs):
            near(a.grad, b.grad)
    nn.utils.clip_grad_value_(ours, 0.3)
    torch.nn.utils.clip_grad_value_(theirs, 0.3)
    for a, b in zip(ours, theirs):
        near(a.grad, b.grad)
    ours[0].grad = Tensor(np.full((3, 2), np.inf, np.float32))
    with pytest.raises(ValueError, match="norm of the gradients is inf"):
        nn.utils.clip_grad_norm_(ours, 1.0, error_if_nonfinite=True)


def test_sequential_loads_and_learns_as_pytorchs():
    def make(module):
        return module.Sequential(module.Conv2d(1, 4, 3), module.ReLU(), module.MaxPool2d(2), module.Flatten(),
                                 module.Linear(36, 5), module.Tanh(), module.Linear(5, 2))

    ours, theirs = make(nn), make(torch.nn)
    assert list(ours.state_dict()) == list(theirs.state_dict())
    compare(ours, theirs, [noise(3, 1, 8, 8)])


def test_a_training_step_of_an_lstm_is_jitted():
    Tensor.manual_seed(0)
    lstm, head = nn.LSTM(2, 8), nn.Linear(8, 1)
    optimizer = nn.optim.Adam(nn.state.get_parameters([lstm, head]), lr=0.02)
    x = Tensor(noise(6, 16, 2)).realize()
    y = x.sum(axis=(0, 2)).realize()

    @doorbell.jit
    def step(x, y):
        optimizer.zero_grad()
        loss = (head(lstm(x)[0][-1]).squeeze(1) - y).square().mean()
        loss.backward()
        norm = nn.utils.clip_grad_norm_(optimizer.params, 1.0)
        optimizer.step(loss, norm)
        return loss, norm

    losses = [step(x, y)[0].item() for _ in range(150)]
    assert losses[-1] < losses[0] / 5
