"""Layers, losses, optimizers and trained models against PyTorch; and memory shared with it."""
import gc
import weakref

import numpy as np
import pytest
import torch
import torch.nn.functional as F

import doorbell
from comparing import Batch, leaf, numbers, numpy_of
from doorbell import Tensor, dtypes, nn

torch.set_num_threads(1)
CLOSE = (2e-4, 2e-4)


def check_with_gradients(batch, ours, theirs, arrays, what):
    """f of some arrays, and the gradients for those that are floats."""
    def prepare(make):
        return [make(array) for array in arrays]
    mine = prepare(lambda array: leaf(array) if array.dtype.kind == "f" else Tensor(array))
    others = prepare(lambda array: torch.tensor(array, requires_grad=array.dtype.kind == "f"))
    result, expected = ours(*mine), theirs(*others)
    batch.add(result, numpy_of(expected), what, CLOSE)
    result.square().sum().backward()
    expected.square().sum().backward()
    for number, (own, other) in enumerate(zip(mine, others)):
        if other.requires_grad and other.grad is not None:
            batch.add(own.grad, numpy_of(other.grad), f"{what}: gradient {number}", (2e-3, 2e-3))


CONVOLUTIONS = [
    {"stride": 1}, {"stride": 2, "padding": 1}, {"padding": "same"}, {"padding": (0, 2), "stride": (1, 2)},
    {"dilation": 2, "padding": 2}, {"groups": 2}, {"groups": 2, "stride": 2, "dilation": (1, 2)}, {"padding": "valid"},
]


@pytest.mark.parametrize("options", CONVOLUTIONS, ids=str)
def test_convolution(options):
    rng, batch = np.random.default_rng(1), Batch()
    groups = options.get("groups", 1)
    for kernel in ((3, 3), (1, 1), (2, 3)):
        arrays = [numbers(rng, (2, 4, 7, 8), "float32"), numbers(rng, (6, 4 // groups, *kernel), "float32"),
                  numbers(rng, (6,), "float32")]
        check_with_gradients(batch, lambda x, w, b: x.conv2d(w, b, **options),
                             lambda x, w, b: F.conv2d(x, w, b, **options), arrays, f"conv2d {kernel} {options}")
    batch.check()


def test_convolutions_of_other_axes():
    rng, batch = np.random.default_rng(2), Batch()
    x, w = numbers(rng, (2, 3, 9), "float32"), numbers(rng, (4, 3, 3), "float32")
    check_with_gradients(batch, lambda x, w: x.conv2d(w, stride=2), lambda x, w: F.conv1d(x, w, stride=2), [x, w], "1d")
    x, w = numbers(rng, (1, 2, 4, 4, 4), "float32"), numbers(rng, (3, 2, 2, 2, 2), "float32")
    check_with_gradients(batch, lambda x, w: x.conv2d(w, padding=1), lambda x, w: F.conv3d(x, w, padding=1), [x, w],
                         "3d")
    for options in ({}, {"stride": 2}, {"stride": 2, "padding": 1, "output_padding": 1}, {"groups": 2}):
        x, w = numbers(rng, (2, 4, 5, 4), "float32"), numbers(rng, (4, 3, 3, 2), "float32")
        check_with_gradients(batch, lambda x, w: x.conv_transpose2d(w, **options),
                             lambda x, w: F.conv_transpose2d(x, w, **options), [x, w], f"transposed {options}")
    batch.check()


def test_pooling():
    rng, batch = np.random.default_rng(3), Batch()
    x = rng.permutation(2 * 3 * 7 * 8).reshape(2, 3, 7, 8).astype(np.float32) / 50
    for options in ({"kernel_size": 2}, {"kernel_size": (3, 2), "stride": 1},
                    {"kernel_size": 3, "stride": 2, "padding": 1}, {"kernel_size": 2, "ceil_mode": True}):
        check_with_gradients(batch, lambda x: x.max_pool2d(**options), lambda x: F.max_pool2d(x, **options), [x],
                             f"max_pool2d {options}")
        check_with_gradients(batch, lambda x: x.avg_pool2d(**options), lambda x: F.avg_pool2d(x, **options), [x],
                             f"avg_pool2d {options}")
        _, indices = Tensor(x).max_pool2d(**options, return_indices=True)
        batch.add(indices, F.max_pool2d(torch.tensor(x), **options, return_indices=True)[1].numpy(),
                  f"indices {options}")
    # Of equals the first is chosen, of NaN the last, and never padding.
    equals = rng.integers(0, 3, (2, 2, 9, 8)).astype(np.float32)
    equals[0, 0, :5], equals[1, 1, 3:6, 2:5] = -np.inf, np.nan
    for options in ({"kernel_size": 3, "stride": 2, "padding": 1}, {"kernel_size": (2, 3), "stride": (1, 2)},
                    {"kernel_size": 3, "stride": 2, "dilation": 2, "padding": 1, "ceil_mode": True}):
        check_with_gradients(batch, lambda x: x.max_pool2d(**options), lambda x: F.max_pool2d(x, **options),
                             [equals], f"max_pool2d of equals {options}")
    pooled = Tensor(x).max_pool2d(2, return_indices=True)
    expected = F.max_pool2d(torch.tensor(x), 2, return_indices=True)
    batch.add(pooled.values.max_unpool2d(pooled.indices), F.max_unpool2d(*expected, 2).numpy(), "max_unpool2d")
    batch.add(Tensor(x).avg_pool2d(3, padding=1, count_include_pad=False),
              F.avg_pool2d(torch.tensor(x), 3, padding=1, count_include_pad=False).numpy(), "without padding", CLOSE)
    for mode in ("nearest", "nearest-exact", "bilinear", "bicubic", "area"):
        batch.add(Tensor(x).interpolate((5, 11), mode=mode), F.interpolate(torch.tensor(x), (5, 11), mode=mode).numpy(),
                  mode, CLOSE)
    batch.add(Tensor(x).interpolate((5, 11), mode="bilinear", align_corners=True),
              F.interpolate(torch.tensor(x), (5, 11), mode="bilinear", align_corners=True).numpy(), "corners", CLOSE)
    batch.check()


def test_losses():
    rng, batch = np.random.default_rng(4), Batch()
    logits, labels = numbers(rng, (6, 5), "float32"), rng.integers(0, 5, 6)
    probabilities = np.abs(numbers(rng, (6, 5), "float32")) + 0.1
    probabilities = (probabilities / probabilities.sum(1, keepdims=True)).astype(np.float32)
    weight = np.abs(numbers(rng, (5,), "float32")) + 0.1
    yes = (rng.random((6, 5)) > 0.5).astype(np.float32)
    for reduction in ("mean", "sum", "none"):
        for options in ({}, {"label_smoothing": 0.1}, {"ignore_index": 2}):
            check_with_gradients(batch, lambda x, y: x.cross_entropy(y, reduction=reduction, **options),
                                 lambda x, y: F.cross_entropy(x, y, reduction=reduction, **options),
                                 [logits, labels], f"cross_entropy {reduction} {options}")
        batch.add(Tensor(logits).cross_entropy(Tensor(labels), Tensor(weight), reduction=reduction),
                  F.cross_entropy(*map(torch.tensor, (logits, labels, weight)), reduction=reduction).numpy(),
                  "weighted", CLOSE)
        batch.add(Tensor(logits).cross_entropy(Tensor(probabilities), reduction=reduction),
                  F.cross_entropy(*map(torch.tensor, (logits, probabilities)), reduction=reduction).numpy(), "soft",
                  CLOSE)
        batch.add(Tensor(logits).log_softmax().nll_loss(Tensor(labels), reduction=reduction),
                  F.nll_loss(torch.tensor(logits).log_softmax(1), torch.tensor(labels), reduction=reduction).numpy(),
                  "nll", CLOSE)
        check_with_gradients(batch, lambda x: x.sigmoid().binary_crossentropy(Tensor(yes), reduction=reduction),
                             lambda x: F.binary_cross_entropy(x.sigmoid(), torch.tensor(yes), reduction=reduction),
                             [logits], f"binary {reduction}")
        check_with_gradients(
            batch, lambda x: x.binary_crossentropy_logits(Tensor(yes), pos_weight=Tensor(weight), reduction=reduction),
            lambda x: F.binary_cross_entropy_with_logits(x, torch.tensor(yes), pos_weight=torch.tensor(weight),
                                                         reduction=reduction), [logits], f"binary logits {reduction}")
    batch.add(Tensor(logits).sparse_categorical_crossentropy(Tensor(labels)),
              F.cross_entropy(torch.tensor(logits), torch.tensor(labels)).numpy(), "sparse", CLOSE)
    batch.check()


def test_attention_and_norms():
    rng, batch = np.random.default_rng(5), Batch()
    arrays = [numbers(rng, (2, 2, 5, 8), "float32") for _ in range(3)]
    mask = rng.random((5, 5)) > 0.3
    mask |= np.eye(5, dtype=bool)
    for options in ({}, {"is_causal": True}, {"scale": 0.3}):
        check_with_gradients(batch, lambda q, k, v: q.scaled_dot_product_attention(k, v, **options),
                             lambda q, k, v: F.scaled_dot_product_attention(q, k, v, **options), arrays, f"{options}")
    check_with_gradients(batch, lambda q, k, v: q.scaled_dot_product_attention(k, v, attn_mask=Tensor(mask)),
                         lambda q, k, v: F.scaled_dot_product_attention(q, k, v, attn_mask=torch.tensor(mask)), arrays,
                         "masked")
    x = arrays[0]
    check_with_gradients(batch, lambda x: x.layernorm(), lambda x: F.layer_norm(x, (8,)), [x], "layernorm")
    check_with_gradients(batch, lambda x: x.normalize(dim=-1), lambda x: F.normalize(x, dim=-1), [x], "normalize")
    batch.check()


LAYERS = {
    "Linear": (lambda n: n.Linear(8, 3), (4, 8)), "Conv2d": (lambda n: n.Conv2d(2, 4, 3, padding=1), (2, 2, 6, 6)),
    "Conv1d": (lambda n: n.Conv1d(2, 4, 3, stride=2), (2, 2, 9)),
    "ConvTranspose2d": (lambda n: n.ConvTranspose2d(2, 4, 3, stride=2), (2, 2, 4, 4)),
    "ConvTranspose1d": (lambda n: n.ConvTranspose1d(2, 4, 3), (2, 2, 5)),
    "LayerNorm": (lambda n: n.LayerNorm((4, 8)), (2, 4, 8)), "GroupNorm": (lambda n: n.GroupNorm(2, 4), (2, 4, 5)),
    "RMSNorm": (lambda n: n.RMSNorm(8), (2, 8)), "BatchNorm2d": (lambda n: n.BatchNorm2d(3), (2, 3, 4, 4)),
}


@pytest.mark.parametrize("name", LAYERS)
def test_layers_take_pytorchs_state(name):
    make, shape = LAYERS[name]
    rng, batch = np.random.default_rng(6), Batch()
    theirs, ours = make(torch.nn).eval(), make(nn)
    mine = nn.state.get_state_dict(ours)
    state = theirs.state_dict()
    shapes = {key: tuple(value.shape) for key, value in state.items()}
    assert shapes == {key: value.shape for key, value in mine.items()}
    nn.state.load_state_dict(ours, {key: Tensor(value) for key, value in state.items()})
    x = numbers(rng, shape, "float32")
    batch.add(ours(Tensor(x)), numpy_of(theirs(torch.tensor(x))), name, CLOSE)
    if name == "BatchNorm2d":
        with doorbell.train():
            batch.add(ours(Tensor(x)), numpy_of(theirs.train()(torch.tensor(x))), "in training", CLOSE)
        batch.add(ours.running_var, numpy_of(theirs.running_var), "running_var", CLOSE)
    batch.check()


OPTIMIZERS = {
    "SGD": {"lr": 0.1}, "SGD momentum": {"lr": 0.1, "momentum": 0.9, "nesterov": True, "weight_decay": 0.01},
    "Adam": {"lr": 0.1, "weight_decay": 0.01}, "AdamW": {"lr": 0.1}, "AdamW betas": {"lr": 0.05, "betas": (0.8, 0.9)},
}


@pytest.mark.parametrize("name", OPTIMIZERS)
def test_optimizers_take_the_same_steps(name):
    kind, options = name.split()[0], OPTIMIZERS[name]
    rng = np.random.default_rng(7)
    start, target = numbers(rng, (3, 4), "float32"), numbers(rng, (3, 4), "float32")
    mine, theirs = leaf(start), torch.tensor(start, requires_grad=True)
    ours, others = getattr(nn.optim, kind)([mine], **options), getattr(torch.optim, kind)([theirs], **options)
    schedules = nn.optim.CosineAnnealingLR(ours, T_max=10), torch.optim.lr_scheduler.CosineAnnealingLR(others, T_max=10)
    for _ in range(8):
        ours.zero_grad()
        others.zero_grad()
        (mine - Tensor(target)).square().mean().backward()
        (theirs - torch.tensor(target)).square().mean().backward()
        ours.step()
        others.step()
        for schedule in schedules:
            schedule.step()
        assert ours.lr == pytest.approx(others.param_groups[0]["lr"])
    np.testing.assert_allclose(mine.numpy(), numpy_of(theirs), rtol=1e-4, atol=1e-5)


class TheirNet(torch.nn.Module):
    def __init__(self):
        super().__init__()
        self.conv1, self.conv2 = torch.nn.Conv2d(1, 8, 3), torch.nn.Conv2d(8, 16, 3, stride=2)
        self.norm, self.head = torch.nn.BatchNorm2d(16), torch.nn.Linear(16 * 5 * 5, 10)

    def forward(self, x):
        x = self.norm(self.conv2(self.conv1(x).relu())).relu()
        return torch.log_softmax(self.head(x.flatten(1)), dim=1)


class OurNet:
    def __init__(self):
        self.conv1, self.conv2 = nn.Conv2d(1, 8, 3), nn.Conv2d(8, 16, 3, stride=2)
        self.norm, self.head = nn.BatchNorm2d(16), nn.Linear(16 * 5 * 5, 10)

    def __call__(self, x):
        x = self.norm(self.conv2(self.conv1(x).relu())).relu()
        return self.head(x.flatten(1)).log_softmax(dim=1)


def test_a_trained_models_safetensors_give_the_same_log_probabilities(tmp_path):
    safetensors = pytest.importorskip("safetensors.torch", reason="pip install -r python/requirements.txt")
    torch.manual_seed(1)
    rng = np.random.default_rng(8)
    images, labels = torch.tensor(rng.random((64, 1, 14, 14), dtype=np.float32)), torch.tensor(rng.integers(0, 10, 64))
    model = TheirNet()
    optimizer = torch.optim.Adam(model.parameters(), lr=1e-2)
    for _ in range(20):
        optimizer.zero_grad()
        loss = F.nll_loss(model(images), labels)
        loss.backward()
        optimizer.step()
    assert loss.item() < 1.0, "it learnt something"
    model.eval()
    expected = numpy_of(model(images))
    safetensors.save_file(model.state_dict(), tmp_path / "model.safetensors")
    torch.save(model.state_dict(), tmp_path / "model.pth")
    for load, path in ((nn.state.safe_load, "model.safetensors"), (nn.state.torch_load, "model.pth")):
        ours = OurNet()
        nn.state.load_state_dict(ours, load(tmp_path / path))
        np.testing.assert_allclose(ours(Tensor.from_dlpack(images)).numpy(), expected, rtol=1e-4, atol=1e-5)
    nn.state.safe_save(nn.state.get_state_dict(ours), tmp_path / "back.safetensors")
    back = TheirNet()
    back.load_state_dict(safetensors.load_file(tmp_path / "back.safetensors"))
    np.testing.assert_allclose(numpy_of(back.eval()(images)), expected, rtol=1e-6)


@pytest.mark.parametrize("dtype", ["bool", "uint8", "int8", "int16", "int32", "int64", "float16", "bfloat16", "float32",
                                   "float64"])
def test_memory_is_shared_both_ways(dtype):
    theirs = torch.arange(6).reshape(2, 3).to(getattr(torch, dtype))
    ours = Tensor.from_dlpack(theirs)
    assert ours.dtype == dtype and ours.shape == (2, 3)
    theirs[0, 0] = 1
    assert (ours.cast("float32") + 0)[0, 0].item() == 1
    back = torch.from_dlpack(ours)
    assert back.data_ptr() == theirs.data_ptr() and back.dtype == theirs.dtype
    made = Tensor([[1, 0], [1, 1]]).cast(dtype).realize()
    shared = torch.from_dlpack(made)
    assert shared.dtype == theirs.dtype and shared.float().tolist() == [[1, 0], [1, 1]]
    shared[0, 1] = 1
    assert made.cast("int32").tolist() == [[1, 1], [1, 1]]


def test_memory_outlives_whoever_made_it():
    made = Tensor([1.0, 2.0]) + 1
    shared = torch.from_dlpack(made)
    del made
    gc.collect()
    assert shared.tolist() == [2.0, 3.0]
    theirs = torch.ones(3)
    watched = weakref.ref(theirs)
    ours = Tensor.from_dlpack(theirs)
    del theirs
    gc.collect()
    assert (ours + 1).tolist() == [2.0, 2.0, 2.0]
    del ours, watched


def test_tensors_of_pytorch_are_data():
    x = torch.tensor([[1.0, 2.0]])
    assert Tensor(x).tolist() == [[1.0, 2.0]] and Tensor(x.T).shape == (2, 1)
    assert (Tensor([1.0, 1.0]) + x).tolist() == [[2.0, 3.0]]
    assert Tensor([1], dtype=torch.bfloat16).dtype == dtypes.bfloat16
    assert torch.tensor(Tensor([1, 2]).tolist()).tolist() == [1, 2]
    assert Tensor(x.requires_grad_()).tolist() == [[1.0, 2.0]], "the value alone"
