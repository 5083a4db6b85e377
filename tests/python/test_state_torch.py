"""States of PyTorch: models and optimizers that it trained go on here with its values."""
import numpy as np
import pytest

from doorbell import Tensor, nn

torch = pytest.importorskip("torch", reason="PyTorch is not installed: scripts/test --torch")

CASES = {
    "sgd": (torch.optim.SGD, nn.optim.SGD, dict(lr=0.1)),
    "momentum": (torch.optim.SGD, nn.optim.SGD, dict(lr=0.1, momentum=0.9, weight_decay=0.05)),
    "nesterov": (torch.optim.SGD, nn.optim.SGD, dict(lr=0.1, momentum=0.8, nesterov=True)),
    "adam": (torch.optim.Adam, nn.optim.Adam, dict(lr=0.05, betas=(0.8, 0.95), eps=1e-6, weight_decay=0.1)),
    "adamw": (torch.optim.AdamW, nn.optim.AdamW, dict(lr=0.05, weight_decay=0.3)),
}
X = np.random.default_rng(1).normal(size=(12, 8, 3)).astype(np.float32)


class Net:
    def __init__(self):
        self.layers = {"0": nn.Linear(3, 5), "2": nn.Linear(5, 2)}

    def __call__(self, x):
        return self.layers["2"](self.layers["0"](x).tanh())

    def parameters(self):
        return nn.state.get_parameters(self)


def torch_net():
    torch.manual_seed(3)
    return torch.nn.Sequential(torch.nn.Linear(3, 5), torch.nn.Tanh(), torch.nn.Linear(5, 2))


def train(model, optimizer, inputs, make):
    for x in inputs:
        optimizer.zero_grad()
        (model(make(x)) - 1).square().mean().backward()
        optimizer.step()


def grouped(first, second, kind):
    return [{"params": first, "lr": 0.2}, {"params": second, **({"weight_decay": 0.25} if kind else {})}]


@pytest.mark.parametrize("groups", [False, True], ids=["one", "groups"])
@pytest.mark.parametrize("way", ["file", "legacy", "checkpoint", "tensors"])
@pytest.mark.parametrize("name", CASES)
def test_training_resumes_with_pytorchs_values(name, way, groups, tmp_path):
    make_theirs, make_ours, options = CASES[name]
    model, net = torch_net(), Net()
    linear = [layer for layer in model if hasattr(layer, "weight")]
    ours = [list(nn.state.get_parameters(layer)) for layer in net.layers.values()]
    if groups:
        optimizer = make_theirs(grouped(linear[0].parameters(), linear[1].parameters(), True), **options)
        resumed = make_ours(grouped(ours[0], ours[1], False), lr=9.0)
    else:
        optimizer = make_theirs(model.parameters(), **options)
        resumed = make_ours(net.parameters(), lr=9.0)
    train(model, optimizer, X[:6], torch.from_numpy)
    path, legacy = tmp_path / "state.pt", way == "legacy"
    if way == "tensors":
        weights, state = model.state_dict(), optimizer.state_dict()
    elif way == "checkpoint":
        torch.save({"model": model.state_dict(), "optimizer": optimizer.state_dict(), "epoch": 6}, path)
        whole = nn.state.torch_load(path, nested=True)
        weights, state = whole["model"], whole["optimizer"]
        assert whole["epoch"] == 6
    else:
        torch.save(model.state_dict(), tmp_path / "model.pt", _use_new_zipfile_serialization=not legacy)
        torch.save(optimizer.state_dict(), path, _use_new_zipfile_serialization=not legacy)
        weights, state = nn.state.torch_load(tmp_path / "model.pt"), nn.state.torch_load(path, nested=True)
    nn.state.load_state_dict(net, {f"layers.{name}": tensor for name, tensor in weights.items()})
    resumed.load_state_dict(state)
    train(model, optimizer, X[6:], torch.from_numpy)
    train(net, resumed, X[6:], Tensor)
    for (key, theirs), tensor in zip(model.state_dict().items(), nn.state.get_state_dict(net).values()):
        np.testing.assert_allclose(tensor.numpy(), theirs.numpy(), rtol=2e-5, atol=2e-6, err_msg=key)
    after, theirs = resumed.state_dict(), optimizer.state_dict()
    for number, own in theirs["state"].items():
        for key, value in own.items():
            if value is not None:
                np.testing.assert_allclose(after["state"][number][key].numpy(), value.numpy(), rtol=2e-5, atol=1e-6)
    for group, given in zip(after["param_groups"], theirs["param_groups"]):
        assert {key: group[key] for key in group if key != "classic"}.items() <= given.items()


def test_pytorch_takes_a_state_from_here():
    net = Net()
    optimizer = nn.optim.AdamW(net.parameters(), lr=0.05)
    train(net, optimizer, X[:6], Tensor)
    model = torch_net()
    model.load_state_dict({key.removeprefix("layers."): torch.from_numpy(tensor.numpy())
                           for key, tensor in nn.state.get_state_dict(net).items()})
    theirs = torch.optim.AdamW(model.parameters(), lr=9.0)
    state = optimizer.state_dict()
    state["state"] = {number: {key: torch.tensor(tensor.numpy()) for key, tensor in own.items()}
                      for number, own in state["state"].items()}
    theirs.load_state_dict(state)
    train(net, optimizer, X[6:], Tensor)
    train(model, theirs, X[6:], torch.from_numpy)
    for tensor, wanted in zip(net.parameters(), model.parameters()):
        np.testing.assert_allclose(tensor.numpy(), wanted.detach().numpy(), rtol=2e-5, atol=2e-6)


def test_what_pytorch_has_beyond_is_named():
    w, parameter = Tensor([1.0, 2.0], requires_grad=True), torch.nn.Parameter(torch.tensor([1.0, 2.0]))

    def state_of(optimizer):
        parameter.grad = torch.ones(2)
        optimizer.step()
        return optimizer.state_dict()

    with pytest.raises(NotImplementedError, match="Adam has no option amsgrad, which is true here"):
        nn.optim.Adam([w]).load_state_dict(state_of(torch.optim.Adam([parameter], amsgrad=True)))
    with pytest.raises(NotImplementedError, match="SGD has no option dampening, which is 0.5 here"):
        nn.optim.SGD([w]).load_state_dict(state_of(torch.optim.SGD([parameter], momentum=0.9, dampening=0.5)))
    with pytest.raises(NotImplementedError, match="SGD has no option maximize"):
        nn.optim.SGD([w]).load_state_dict(state_of(torch.optim.SGD([parameter], maximize=True)))
    with pytest.raises(ValueError, match="decoupled_weight_decay is true, expected false"):
        nn.optim.Adam([w]).load_state_dict(state_of(torch.optim.AdamW([parameter])))


def test_layers_take_tensors_of_pytorch():
    theirs, ours = torch.nn.Linear(3, 2), nn.Linear(3, 2)
    assert nn.state.load_state_dict(ours, theirs.state_dict()) == ([], [])
    np.testing.assert_array_equal(ours.weight.numpy(), theirs.weight.detach().numpy())
    nn.state.load_state_dict(ours, dict(theirs.named_parameters()))
    nn.state.load_state_dict(ours, {name: tensor.numpy() for name, tensor in theirs.state_dict().items()})
    half = torch.nn.Linear(3, 2).to(torch.bfloat16)
    nn.state.load_state_dict(ours, half.state_dict())
    np.testing.assert_array_equal(ours.bias.numpy(), half.bias.detach().float().numpy())
    norm = nn.BatchNorm2d(3)
    nn.state.load_state_dict(norm, torch.nn.BatchNorm2d(3).state_dict())
    with pytest.raises(ValueError, match=r"weight has shape \(2, 4\), expected \(2, 3\).*missing: bias; unexpected: x"):
        nn.state.load_state_dict(ours, {"weight": torch.zeros(2, 4), "x": torch.zeros(1)})
    with pytest.raises(TypeError, match="weight is <class 'str'>, expected a tensor"):
        nn.state.load_state_dict(ours, {"weight": "none", "bias": torch.zeros(2)})
    assert nn.state.load_state_dict(ours, {"weight": torch.zeros(2, 3), "x": torch.zeros(1)}, strict=False) == (
        ["bias"], ["x"])
    with pytest.raises(ValueError, match=r"weight has shape \(1\), expected \(2, 3\)"):
        nn.state.load_state_dict(ours, {"weight": torch.zeros(1)}, strict=False)


def test_schedules_of_pytorch_go_on():
    w, parameter = Tensor([1.0], requires_grad=True), torch.nn.Parameter(torch.tensor([1.0]))
    theirs = torch.optim.SGD([parameter], lr=0.8)
    schedule = torch.optim.lr_scheduler.CosineAnnealingLR(theirs, T_max=9)
    for _ in range(4):
        theirs.step()
        schedule.step()
    ours = nn.optim.SGD([w], lr=0.1)
    resumed = nn.optim.CosineAnnealingLR(ours, T_max=9)
    ours.load_state_dict(theirs.state_dict())
    resumed.load_state_dict(schedule.state_dict())
    for _ in range(3):
        theirs.step()
        schedule.step()
        resumed.step()
        assert ours.lr == pytest.approx(theirs.param_groups[0]["lr"], rel=1e-6)
