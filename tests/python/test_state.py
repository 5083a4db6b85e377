"""States of models and optimizers: as values, in pickles and copies, in files."""
import copy
import pickle

import numpy as np
import pytest

import doorbell
from doorbell import Tensor, nn

RNG = np.random.default_rng(7)
MAKERS = {
    "sgd": lambda p: nn.optim.SGD(p, lr=0.1),
    "momentum": lambda p: nn.optim.SGD(p, lr=0.1, momentum=0.9, nesterov=True, weight_decay=0.1),
    "lars": lambda p: nn.optim.LARS(p, lr=0.1),
    "adam": lambda p: nn.optim.Adam(p, lr=0.1, betas=(0.8, 0.99), eps=1e-6, weight_decay=0.1),
    "adamw": lambda p: nn.optim.AdamW(p, lr=0.1, weight_decay=0.2),
    "lamb": lambda p: nn.optim.LAMB(p, lr=0.1, weight_decay=0.1),
    "muon": lambda p: nn.optim.Muon(p, lr=0.1, ns_coefficients=(3.0, -4.0, 2.0), ns_steps=3),
}
START = [RNG.normal(size=(3, 4)).astype(np.float32), RNG.normal(size=(4, 4)).astype(np.float32)]
INPUTS = [RNG.normal(size=(5, 3)).astype(np.float32) for _ in range(8)]


class Net:
    def __init__(self):
        self.a, self.b = (Tensor(value, requires_grad=True) for value in START)

    def __call__(self, x):
        return ((x @ self.a).tanh() @ self.b).square().mean()


def train(net, optimizer, inputs):
    for x in inputs:
        optimizer.zero_grad()
        net(Tensor(x)).backward()
        optimizer.step()
    return [net.a.numpy().copy(), net.b.numpy().copy()]


def assert_same(results, expected):
    for result, wanted in zip(results, expected):
        np.testing.assert_allclose(result, wanted, rtol=1e-6, atol=1e-7)


def started(name):
    net = Net()
    optimizer = MAKERS[name]([net.a, net.b])
    train(net, optimizer, INPUTS[:4])
    return net, optimizer


@pytest.mark.parametrize("name", MAKERS)
def test_training_goes_on_from_a_state(name):
    net, optimizer = started(name)
    state, values = pickle.loads(pickle.dumps((optimizer.state_dict(), nn.state.get_state_dict(net))))
    expected = train(net, optimizer, INPUTS[4:])
    other = Net()
    nn.state.load_state_dict(other, values)
    resumed = MAKERS[name]([other.a, other.b])
    resumed.load_state_dict(state)
    assert_same(train(other, resumed, INPUTS[4:]), expected)


@pytest.mark.parametrize("duplicate", [lambda pair: pickle.loads(pickle.dumps(pair)), copy.deepcopy],
                         ids=["pickle", "deepcopy"])
@pytest.mark.parametrize("name", MAKERS)
def test_a_model_and_its_optimizer_stay_together(name, duplicate):
    net, optimizer = started(name)
    other, resumed = duplicate((net, optimizer))
    assert type(resumed) is type(optimizer) and resumed.state_dict()["param_groups"] == optimizer.state_dict()[
        "param_groups"]
    before = net.a.numpy().copy()
    result = train(other, resumed, INPUTS[4:])
    np.testing.assert_array_equal(net.a.numpy(), before)
    assert_same(train(net, optimizer, INPUTS[4:]), result)


def test_a_copy_changes_the_same_parameters():
    net, optimizer = started("adam")
    other = copy.copy(optimizer)
    before = net.a.numpy().copy()
    train(net, other, INPUTS[4:5])
    assert (net.a.numpy() != before).any()
    assert other.state_dict()["state"][0]["step"].item() == 5
    assert optimizer.state_dict()["state"][0]["step"].item() == 4, "its state is its own"


def test_handles_of_one_tensor_stay_handles_of_one():
    a = Tensor([1.0, 2.0])
    for first, second in (pickle.loads(pickle.dumps([a, a])), copy.deepcopy([a, a])):
        first.assign([5.0, 6.0])
        assert second.tolist() == [5.0, 6.0] and a.tolist() == [1.0, 2.0]
    layer = nn.Linear(2, 2)
    one, weight = copy.deepcopy([layer, layer.weight])
    weight.assign(Tensor.eye(2))
    assert one.weight.tolist() == [[1.0, 0.0], [0.0, 1.0]] and weight.is_leaf


def test_what_was_given_does_not_change():
    net, optimizer = started("adam")
    state = optimizer.state_dict()
    assert list(state) == ["state", "param_groups"]
    assert sorted(state["state"][0]) == ["exp_avg", "exp_avg_sq", "step"]
    assert state["param_groups"][0]["betas"] == (0.8, 0.99) and state["param_groups"][0]["params"] == [0, 1]
    before = state["state"][1]["exp_avg"].numpy().copy()
    train(net, optimizer, INPUTS[4:])
    np.testing.assert_array_equal(state["state"][1]["exp_avg"].numpy(), before)
    assert state["state"][0]["step"].item() == 4


def test_groups_of_parameters():
    a, b, c = (Tensor([1.0, 1.0], requires_grad=True) for _ in range(3))
    optimizer = nn.optim.SGD([{"params": [a], "lr": 0.5}, {"params": b, "momentum": 0.9}], lr=0.25)
    optimizer.add_param_group({"params": [c], "lr": 1.0})
    assert [group["lr"] for group in optimizer.param_groups] == [0.5, 0.25, 1.0] and optimizer.lr == 0.5
    assert [group["momentum"] for group in optimizer.param_groups] == [0.0, 0.9, 0.0]
    for _ in range(2):
        optimizer.zero_grad()
        (a + b + c).sum().backward()
        optimizer.step()
    assert a.tolist() == [0.0, 0.0] and c.tolist() == [-1.0, -1.0]
    np.testing.assert_allclose(b.numpy(), [1 - 0.25 - 0.25 * 1.9] * 2, rtol=1e-6)
    group = optimizer.param_groups[0]
    group["lr"] = 2.0
    assert optimizer.param_groups[0]["lr"] == 2.0 and "momentum" in group and list(group)[0] == "lr"
    assert dict(group)["weight_decay"] == 0.0 and group.get("nothing", 3) == 3 and len(group["params"]) == 1
    optimizer.step()
    assert a.tolist() == [-2.0, -2.0]
    other = nn.optim.SGD([{"params": [a]}, {"params": [b]}, {"params": [c]}], lr=9.0)
    other.load_state_dict(optimizer.state_dict())
    assert [group["lr"] for group in other.param_groups] == [2.0, 0.25, 1.0]
    schedule = nn.optim.MultiStepLR(other, milestones=[1], gamma=0.5)
    schedule.step()
    assert schedule.get_last_lr() == [1.0, 0.125, 0.5]


def test_parameters_without_gradients_stay_behind():
    """Adam counts the steps of each parameter, as PyTorch does: w * sign of the gradient in its first step."""
    a, b = Tensor([1.0], requires_grad=True), Tensor([1.0], requires_grad=True)
    optimizer = nn.optim.Adam([a, b], lr=0.1)
    for _ in range(3):
        optimizer.zero_grad()
        (a * 2).sum().backward()
        optimizer.step()
    optimizer.zero_grad()
    (b * 2).sum().backward()
    optimizer.step()
    assert [optimizer.state_dict()["state"][i]["step"].item() for i in (0, 1)] == [3.0, 1.0]
    np.testing.assert_allclose(b.numpy(), [0.9], rtol=1e-5)
    other = nn.optim.Adam([a, b], lr=0.1)
    other.load_state_dict(optimizer.state_dict())
    assert [other.state_dict()["state"][i]["step"].item() for i in (0, 1)] == [3.0, 1.0]


def test_a_replayed_step_sees_a_loaded_state():
    net, optimizer = started("adam")
    state, values = optimizer.state_dict(), copy.deepcopy(nn.state.get_state_dict(net))
    expected = train(net, optimizer, INPUTS[4:])

    @doorbell.jit
    def step(x):
        optimizer.zero_grad()
        net(x).backward()
        optimizer.step()

    for x in INPUTS[:3]:
        step(Tensor(x))
    assert step.is_captured
    nn.state.load_state_dict(net, values)
    optimizer.load_state_dict(state)
    for x in INPUTS[4:]:
        step(Tensor(x))
    assert_same([net.a.numpy(), net.b.numpy()], expected)


def test_what_does_not_fit_changes_nothing():
    net, optimizer = started("adam")
    before = optimizer.state_dict()
    with pytest.raises(ValueError, match="the state has 2 groups of parameters, the optimiser 1"):
        optimizer.load_state_dict({"state": {}, "param_groups": [before["param_groups"][0]] * 2})
    with pytest.raises(ValueError, match="group 0 of the state has 1 parameters, the optimiser's 2"):
        optimizer.load_state_dict({"state": {}, "param_groups": [{"params": [0]}]})
    with pytest.raises(ValueError, match=r"exp_avg of parameter 0 has shape \(7\), expected \(3, 4\)"):
        optimizer.load_state_dict({"state": {0: {"exp_avg": Tensor.zeros(7)}}, "param_groups": [
            {"lr": 3.0, "params": [0, 1]}]})
    with pytest.raises(doorbell.errors.UnsupportedError, match="Adam has no option amsgrad, which is true here"):
        optimizer.load_state_dict({"state": {}, "param_groups": [{"lr": 3.0, "amsgrad": True, "params": [0, 1]}]})
    with pytest.raises(ValueError, match="decoupled_weight_decay is true, expected false: it is of another"):
        optimizer.load_state_dict(MAKERS["adamw"]([net.a, net.b]).state_dict())
    with pytest.raises(ValueError, match="option betas is 0.5, expected a value like"):
        optimizer.load_state_dict({"state": {}, "param_groups": [{"betas": 0.5, "params": [0, 1]}]})
    with pytest.raises(KeyError, match="no param_groups in the state of an optimizer"):
        optimizer.load_state_dict({"state": {}})
    assert optimizer.lr == 0.1
    after = optimizer.state_dict()
    np.testing.assert_array_equal(after["state"][0]["exp_avg"].numpy(), before["state"][0]["exp_avg"].numpy())


W, V = (Tensor([[1.0, 2.0]], requires_grad=True) for _ in range(2))


@pytest.mark.parametrize("make, message", [
    (lambda: nn.optim.SGD([W, W]), r"a parameter of shape \(1, 2\) is given to an optimiser twice"),
    (lambda: nn.optim.Adam([{"params": [W]}, {"params": [V, W]}]), "is given to an optimiser twice"),
    (lambda: nn.optim.SGD([W], lr=-1.0), "a learning rate of -1"),
    (lambda: nn.optim.SGD([W], lr=float("nan")), "a learning rate of nan"),
    (lambda: nn.optim.SGD([W], momentum=-0.5), "a momentum of -0.5"),
    (lambda: nn.optim.SGD([W], nesterov=True), "nesterov with a momentum of 0"),
    (lambda: nn.optim.Adam([W], betas=(1.0, 0.9)), "a beta of 1"),
    (lambda: nn.optim.Adam([W], betas=(0.9, -0.1)), "a beta of -0.1"),
    (lambda: nn.optim.Adam([W], eps=-1e-8), "an eps of -1e-08"),
    (lambda: nn.optim.Muon([W], ns_steps=-1), "Muon with -1 Newton-Schulz steps of 3 coefficients"),
    (lambda: nn.optim.Muon([W], ns_coefficients=()), "of 0 coefficients"),
    (lambda: nn.optim.SGD([{"params": [W], "lr": -2.0}]), "a learning rate of -2"),
    (lambda: nn.optim.SGD([{"params": [W], "betas": (0.9, 0.9)}]), "SGD has no option betas"),
    *[(lambda make=make: make([W], weight_decay=-0.5), "a weight decay of -0.5") for make in (
        nn.optim.SGD, nn.optim.LARS, nn.optim.Adam, nn.optim.AdamW, nn.optim.LAMB, nn.optim.Muon)],
])
def test_what_cannot_be_meant_is_refused(make, message):
    with pytest.raises(ValueError, match=message):
        make()


def test_kinds_of_parameters():
    with pytest.raises(TypeError, match="a list of tensors or of dicts, not one tensor"):
        nn.optim.SGD(W)
    with pytest.raises(TypeError, match="tensors beside dicts"):
        nn.optim.SGD([W, {"params": [V]}])
    with pytest.raises(KeyError, match="without"):
        nn.optim.SGD([{"lr": 0.1}])
    optimizer = nn.optim.SGD([W], lr=0.1)
    with pytest.raises(ValueError, match="a learning rate of -1"):
        optimizer.param_groups[0]["lr"] = -1
    with pytest.raises(ValueError, match="SGD has no option speed"):
        optimizer.param_groups[0]["speed"] = 1
    with pytest.raises(ValueError, match="nesterov with a momentum of 0"):
        optimizer.param_groups[0]["nesterov"] = True
    assert optimizer.param_groups[0]["nesterov"] is False and optimizer.lr == 0.1


def test_tied_parameters_are_given_once():
    class Tied:
        def __init__(self):
            self.embedding, self.head = nn.Embedding(4, 3), nn.Linear(3, 4, bias=False)
            self.head.weight = self.embedding.weight

    tied = Tied()
    assert len(nn.state.get_state_dict(tied)) == 2 and len(nn.state.get_parameters(tied)) == 1
    nn.optim.SGD(nn.state.get_parameters(tied))
    other = copy.deepcopy(tied)
    other.head.weight.assign(Tensor.zeros(4, 3))
    assert other.embedding.weight.numpy().sum() == 0, "tied in a copy too"


def test_schedules_go_on():
    w = Tensor([1.0], requires_grad=True)
    for make in (lambda o: nn.optim.MultiStepLR(o, [2, 4], 0.5), lambda o: nn.optim.CosineAnnealingLR(o, 7),
                 lambda o: nn.optim.OneCycleLR(o, 2.0, 9)):
        first = nn.optim.SGD([w], lr=0.8)
        schedule = make(first)
        for _ in range(3):
            schedule.step()
        second = nn.optim.SGD([w], lr=0.1)
        resumed = make(second)
        second.load_state_dict(first.state_dict())
        resumed.load_state_dict(schedule.state_dict())
        for _ in range(3):
            schedule.step()
            resumed.step()
            assert second.lr == first.lr
    first, second = nn.optim.SGD([w], lr=0.8), nn.optim.SGD([w], lr=0.8)
    plateau, resumed = (nn.optim.ReduceLROnPlateau(o, patience=1) for o in (first, second))
    plateau.step(1.0)
    plateau.step(2.0)
    resumed.load_state_dict(plateau.state_dict())
    resumed.step(2.0)
    assert second.lr == pytest.approx(0.08)
