"""Layers, optimizers, schedules, models and files from Python."""
import copy
import gzip
import os
import pathlib
import pickle

import numpy as np
import pytest

import doorbell
from doorbell import Tensor, dtypes, nn

ROOT = pathlib.Path(os.environ["DOORBELL_SOURCE_ROOT"])


class Net:
    def __init__(self):
        self.convs = [nn.Conv2d(1, 4, 3, padding="same"), nn.Conv2d(4, 8, (3, 3), stride=2)]
        self.norm = nn.BatchNorm2d(8)
        self.head = {"linear": nn.Linear(8, 3, bias=False)}
        self.scale = Tensor([1.0])
        self.name, self.owner = "net", self  # neither is a tensor

    def __call__(self, x):
        for conv in self.convs:
            x = conv(x).relu()
        return self.head["linear"](self.norm(x).mean((2, 3))) * self.scale


def test_models_are_walked_by_their_attributes():
    net = Net()
    state = nn.state.get_state_dict(net)
    assert list(state) == [
        "convs.0.weight", "convs.0.bias", "convs.1.weight", "convs.1.bias", "norm.weight", "norm.bias",
        "norm.running_mean", "norm.running_var", "norm.num_batches_tracked", "head.linear.weight", "scale"]
    assert len(nn.state.get_parameters(net)) == 7
    assert net(Tensor.ones(2, 1, 7, 7)).shape == (2, 3)
    assert state["convs.1.weight"].shape == (8, 4, 3, 3)
    net.scale.assign([5.0])
    assert state["scale"].item() == 5.0, "the model's own tensors"
    assert list(nn.state.get_state_dict(nn.Linear(2, 1), "head")) == ["head.weight", "head.bias"]
    assert list(nn.state.get_state_dict(Tensor([1]), "x")) == ["x"]


def test_state_is_loaded_by_name():
    a, b = Net(), Net()
    nn.state.load_state_dict(b, nn.state.get_state_dict(a))
    x = Tensor.rand(1, 1, 7, 7)
    np.testing.assert_array_equal(a(x).numpy(), b(x).numpy())
    with pytest.raises(doorbell.Error, match="missing: convs.0.bias, convs.1.weight, "):
        nn.state.load_state_dict(b, {"convs.0.weight": Tensor.zeros(4, 1, 3, 3)})
    with pytest.raises(ValueError, match=r"weight has shape \(2, 2\), expected \(1, 2\)"):
        nn.state.load_state_dict(nn.Linear(2, 1), {"weight": Tensor.zeros(2, 2), "bias": Tensor.zeros(1)})
    nn.state.load_state_dict(b, {"scale": Tensor([2], dtype=dtypes.int64)}, strict=False)
    assert b.scale.item() == 2.0 and b.scale.dtype == dtypes.float32


def test_attributes_and_subclasses_of_layers():
    class Scaled(nn.Linear):
        def __init__(self):
            super().__init__(2, 2)
            self.scale = Tensor([2.0])

        def __call__(self, x):
            return super().__call__(x) * self.scale

    layer = Scaled()
    layer.weight = Tensor.eye(2)
    layer.bias = None
    assert layer.bias is None and layer(Tensor([[1.0, 2.0]])).tolist() == [[2.0, 4.0]]
    assert list(nn.state.get_state_dict(layer)) == ["weight", "scale"]
    assert nn.Linear(2, 1, bias=False).bias is None


def test_models_are_copied_with_their_tensors():
    net = Net()
    other = copy.deepcopy(net)
    assert list(nn.state.get_state_dict(other)) == list(nn.state.get_state_dict(net))
    x = Tensor.rand(1, 1, 7, 7)
    before = net(x).numpy().copy()
    np.testing.assert_array_equal(other(x).numpy(), before)
    with doorbell.no_grad():
        for tensor in nn.state.get_parameters(other):
            tensor.assign(tensor * 0)
    np.testing.assert_array_equal(net(x).numpy(), before)
    assert other(x).abs().sum().item() == 0 and other.owner is other
    cell = copy.deepcopy(nn.LSTMCell(2, 3))
    assert cell.weight_ih.is_leaf and cell.weight_ih.shape == (12, 2)

    class Named(nn.Linear):
        def __init__(self, name):
            super().__init__(2, 1)
            self.name = name

    assert type(copy.deepcopy(Named("a"))) is Named and copy.deepcopy(Named("a")).name == "a"


def test_batch_norm_learns_in_training_only():
    norm = nn.BatchNorm(2)
    x = Tensor([[1.0, 2.0], [3.0, 6.0]])
    norm(x).realize()
    assert norm.running_mean.tolist() == [0.0, 0.0]
    assert not doorbell.is_training()
    with doorbell.train():
        assert doorbell.is_training()
        assert np.allclose(norm(x).numpy(), [[-1, -1], [1, 1]], atol=1e-4)
        with doorbell.train(False):
            assert not doorbell.is_training()
    np.testing.assert_allclose(norm.running_mean.numpy(), [0.2, 0.4], rtol=1e-6)
    with doorbell.Context(TRAINING=1):
        assert doorbell.is_training()
        assert 0 < (Tensor.ones(1000).dropout(0.5) == 0).sum().item() < 1000


@doorbell.no_grad()
def nothing_to_remember(w):
    return (w * 2).requires_grad, doorbell.is_grad_enabled()


def test_scopes():
    w = Tensor([1.0], requires_grad=True)
    assert nothing_to_remember(w) == (False, False) and doorbell.is_grad_enabled() and (w * 2).requires_grad
    with doorbell.Context(NO_GRAD=1):
        assert not (w * 2).requires_grad
    with pytest.raises(ValueError, match="no setting NOTHING"):
        doorbell.Context(NOTHING=1)
    with pytest.raises(KeyError):
        with doorbell.no_grad():
            raise KeyError
    assert doorbell.is_grad_enabled()


@pytest.mark.parametrize("make", [nn.optim.SGD, nn.optim.Adam, nn.optim.AdamW, nn.optim.LAMB, nn.optim.LARS])
def test_optimizers_go_down(make):
    w = Tensor([3.0, -2.0], requires_grad=True)
    optimizer = make([w], lr=0.1)
    before = (w * w).sum().item()
    for _ in range(3):
        optimizer.zero_grad()
        (w * w).sum().backward()
        optimizer.step()
    assert (w * w).sum().item() < before and w.is_leaf and optimizer.params[0].shape == (2,)
    with pytest.raises(ValueError):
        optimizer.zero_grad()
        optimizer.step()


def test_options_of_optimizers():
    w = Tensor([1.0], requires_grad=True)
    assert nn.optim.Adam(iter([w]), betas=(0.8, 0.9)).lr == 0.001
    assert nn.optim.Adam([w], lr=0.5, b1=0.8, b2=0.9).lr == 0.5
    sgd = nn.optim.SGD([w], 0.1, momentum=0.9, nesterov=True)
    schedule = nn.optim.MultiStepLR(sgd, milestones=[1], gamma=0.5)
    schedule.step()
    assert sgd.lr == pytest.approx(0.05) and schedule.last_epoch == 1
    other = Tensor([1.0], requires_grad=True)
    group = nn.optim.OptimizerGroup(sgd, nn.optim.SGD([other], lr=1.0))
    (w + other).sum().backward()
    group.step()
    group.zero_grad()
    assert w.grad is None and other.item() == 0.0
    with pytest.raises(ValueError, match="expected a matrix"):
        nn.optim.Muon([w])
    with pytest.raises(ValueError, match="expected one of: cos, linear"):
        nn.optim.OneCycleLR(sgd, 1.0, 5, anneal_strategy="sine")
    with pytest.raises(TypeError):
        nn.optim.SGD([1.0])


def test_files(tmp_path):
    path = tmp_path / "weights.safetensors"
    nn.state.safe_save({"w": Tensor([1.0, 2.0]), "half": Tensor([3], dtype=dtypes.bfloat16)}, path, {"made": "here"})
    loaded = nn.state.safe_load(path)
    assert loaded["w"].tolist() == [1.0, 2.0] and loaded["half"].dtype == dtypes.bfloat16
    assert nn.state.safe_load_metadata(str(path)) == {"made": "here"}
    with pytest.raises(FileNotFoundError):
        nn.state.safe_load(tmp_path / "nowhere")
    path.write_bytes(b"nonsense")
    with pytest.raises(doorbell.errors.CorruptError):
        nn.state.safe_load(path)


def test_mnist_from_local_files(tmp_path):
    with pytest.raises(FileNotFoundError):
        nn.datasets.mnist(tmp_path)
    for kind, count in (("train", 3), ("t10k", 2)):
        images = np.arange(count * 28 * 28, dtype=np.uint8)
        head = (0x803).to_bytes(4, "big") + b"".join(n.to_bytes(4, "big") for n in (count, 28, 28))
        (tmp_path / f"{kind}-images-idx3-ubyte.gz").write_bytes(gzip.compress(head + images.tobytes()))
        labels = (0x801).to_bytes(4, "big") + count.to_bytes(4, "big") + bytes(range(count))
        (tmp_path / f"{kind}-labels-idx1-ubyte").write_bytes(labels)
    train, train_labels, test, test_labels = nn.datasets.mnist(tmp_path)
    assert train.shape == (3, 1, 28, 28) and train.dtype == dtypes.uint8 and test.shape == (2, 1, 28, 28)
    assert train_labels.tolist() == [0, 1, 2] and train[0, 0, 0, 5].item() == 5
    digits = nn.datasets.load_idx(ROOT / "data" / "mnist" / "t10k-images-idx3-ubyte")
    assert digits.shape == (10000, 28, 28)


def test_layers_take_the_names_of_both():
    assert nn.Embedding(num_embeddings=5, embedding_dim=2).weight.shape == (5, 2)
    assert nn.Embedding(vocab_size=5, embed_size=2).weight.shape == (5, 2)
    assert nn.Conv1d(2, 3, 3)(Tensor.ones(1, 2, 5)).shape == (1, 3, 3)
    assert nn.ConvTranspose1d(2, 3, 2)(Tensor.ones(1, 2, 5)).shape == (1, 3, 6)
    assert nn.LSTMCell(3, 4)(Tensor.ones(2, 3), (Tensor.zeros(2, 4), Tensor.zeros(2, 4)))[0].shape == (2, 4)
    assert pickle.loads(pickle.dumps(nn.state.get_state_dict(nn.LayerNorm((2, 3)))))["weight"].shape == (2, 3)
    with pytest.raises(ValueError, match="expected one of: same, valid"):
        nn.Conv2d(1, 1, 3, padding="full")
