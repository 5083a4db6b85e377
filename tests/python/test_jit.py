"""jit from Python: what is recorded, what may change from call to call, and what is refused."""
import gc
import weakref

import pytest

import doorbell
from doorbell import Tensor, Variable, jit, nn


def test_later_calls_do_not_run_the_function():
    calls = []

    @jit
    def double(x):
        calls.append(1)
        return x * 2

    assert [double(Tensor([float(i)])).item() for i in range(5)] == [0.0, 2.0, 4.0, 6.0, 8.0]
    assert len(calls) == 2 and double.is_captured and double.launches == 1
    double.reset()
    assert not double.is_captured and double(Tensor([5.0])).item() == 10.0 and len(calls) == 3
    assert double.function.__name__ == "double"


def test_containers_of_tensors():
    f = jit(lambda pair, scale=None: {"sum": pair[0] + pair[1], "rest": [pair[0] * scale["by"], (pair[1], None)]})
    for i in range(4):
        result = f((Tensor([i]), Tensor([10])), scale={"by": Tensor([2])})
        assert result["sum"].tolist() == [10 + i] and result["rest"][0].tolist() == [2 * i]
        assert result["rest"][1][0].tolist() == [10] and result["rest"][1][1] is None
    assert type(result["rest"]) is list and type(result["rest"][1]) is tuple
    f = jit(lambda x: x.sort())
    for _ in range(3):
        assert f(Tensor([3, 1, 2])).indices.tolist() == [1, 2, 0]


def test_what_is_no_tensor_stays_what_it_was():
    f = jit(lambda x, factor, mode="a": x * factor)
    for _ in range(3):
        assert f(Tensor([1.0]), 3).item() == 3.0
    with pytest.raises(ValueError, match=r"argument \[1\] is 4, captured with 3"):
        f(Tensor([1.0]), 4)
    assert [f(Tensor([1.0]), 3, mode="b").item() for _ in range(3)] == [3.0] * 3
    with pytest.raises(ValueError, match="the keyword arguments.* is 'c', captured with 'b'"):
        f(Tensor([1.0]), 3, mode="c")
    for _ in range(3):
        assert f(Tensor([1.0, 2.0]), 3).tolist() == [3.0, 6.0]
    assert f.graphs == 3
    g = jit(lambda x: x.sum().item())
    with pytest.raises(TypeError, match="gave <class 'float'>"):
        g(Tensor([1.0]))


def test_each_shape_is_captured_by_itself():
    calls, total = [], Tensor.zeros(())

    @jit
    def step(batch, extra=()):
        calls.append(batch.shape)
        total.assign(total + batch.sum())
        return {"y": batch * 2, "n": [tensor + 1 for tensor in extra]}

    assert repr(step) == "<jit of test_each_shape_is_captured_by_itself.<locals>.step: not captured yet>"
    expected = 0.0
    for _ in range(4):
        for rows in (4, 4, 3):
            assert step(Tensor.ones(rows, 2))["y"].shape == (rows, 2)
            expected += rows * 2
            assert total.item() == expected
    assert len(calls) == 4 and step.graphs == 2
    for _ in range(3):
        assert step(Tensor.ones(4, 2), (Tensor([1]),))["n"][0].tolist() == [2]
        assert len(step(Tensor.ones(4, 2), [Tensor([1]), Tensor([2])])["n"]) == 2
        assert step(Tensor.ones(4, 2))["n"] == []
    assert step.graphs == 4 and len(calls) == 8
    assert repr(step).endswith("step: 4 graphs, 2 launches in the last>")
    step.reset()
    assert step.graphs == 0 and step(Tensor.ones(4, 2))["y"].shape == (4, 2)


def test_too_many_shapes_are_told():
    f = jit(max_graphs=2)(lambda x: x + 1)
    for size in (1, 1, 2, 2):
        f(Tensor.ones(size))
    with pytest.raises(ValueError, match=r"shape \(3\) on .*; these are more than 2 combinations"):
        f(Tensor.ones(3))
    assert f(Tensor.ones(2)).tolist() == [2.0, 2.0] and f.graphs == 2


def test_a_call_that_fails_takes_no_place():
    f = jit(max_graphs=1)(lambda x: x + Tensor.ones(2))
    for size in (3, 4, 5):
        with pytest.raises(ValueError, match="cannot broadcast"):
            f(Tensor.ones(size))
    assert [f(Tensor.ones(2)).tolist() for _ in range(3)] == [[2.0, 2.0]] * 3 and f.is_captured


def test_check_finds_what_has_changed():
    factor = 1.0
    f = jit(lambda x: x * factor, check=True)
    for _ in range(3):
        f(Tensor([1.0, 2.0]))
    factor = 2.0
    with pytest.raises(ValueError, match="does not do what it did"):
        f(Tensor([1.0, 2.0]))


def test_methods_and_state():
    class Counter:
        def __init__(self):
            self.total = Tensor.zeros(2)

        @jit
        def add(self, x):
            self.total += x
            return self.total * 1

    counter = Counter()
    for _ in range(4):
        last = counter.add(Tensor([1.0, 2.0]))
    assert last.tolist() == [4.0, 8.0] and counter.total.tolist() == [4.0, 8.0]
    counter.total.assign([10.0, 10.0])
    assert counter.add(Tensor([1.0, 2.0])).tolist() == [11.0, 12.0]


def test_variables():
    n = Variable("count", 1, 8)
    f = jit(lambda x, size: x[:size].sum())
    assert [f(Tensor.arange(8), n.bind(i)).item() for i in range(1, 6)] == [0, 1, 3, 6, 10]
    with pytest.raises(ValueError, match="9 is out of the bounds 1 to 8"):
        n.bind(9)
    half = n.bind(5) // 2 + 1
    assert int(half) == 3 and Tensor.arange(8)[:half].tolist() == [0, 1, 2]
    assert (n.min, n.max, n.name) == (1, 8, "count")


def test_reading_within_is_refused():
    f = jit(lambda x: x * x.sum().item() if False else x * float(x.sum()))
    f(Tensor([1.0]))
    with pytest.raises(ValueError, match="read inside a function that jit captures"):
        f(Tensor([1.0]))
    kept = []

    @jit
    def keeps(x):
        kept.append(x * 2)
        return kept[-1] + 1

    keeps(Tensor([1.0]))
    with pytest.raises(ValueError):
        keeps(Tensor([1.0]))


def test_an_error_within_leaves_it_uncaptured():
    @jit
    def fails(x):
        if state["fail"]:
            raise KeyError("mine")
        return x + 1

    state = {"fail": False}
    fails(Tensor([1]))
    state["fail"] = True
    with pytest.raises(KeyError, match="mine"):
        fails(Tensor([1]))
    state["fail"] = False
    for i in range(3):
        assert fails(Tensor([i])).item() == i + 1
    assert fails.is_captured


def test_nested_functions():
    inner = jit(lambda x: x + 1)
    outer = jit(lambda x: inner(x) * 2)
    assert [outer(Tensor([i])).item() for i in range(4)] == [2, 4, 6, 8]


def test_functions_in_cycles_are_collected():
    class Owner:
        def __init__(self):
            self.step = jit(lambda x: x + id(self) * 0)

    owner = Owner()
    owner.step(Tensor([1]))
    watched = weakref.ref(owner)
    del owner
    gc.collect()
    assert watched() is None


def test_training_step():
    Tensor.manual_seed(1)
    layers = [nn.Linear(2, 8), nn.Linear(8, 1)]
    optimizer = nn.optim.AdamW(nn.state.get_parameters(layers), lr=0.05)
    x = Tensor([[0, 0], [0, 1], [1, 0], [1, 1]], dtype="float32")
    y = Tensor([[0], [1], [1], [0]], dtype="float32")

    @jit
    def step(x, y):
        optimizer.zero_grad()
        loss = layers[1](layers[0](x).tanh()).binary_crossentropy_logits(y)
        loss.backward()
        optimizer.step(loss)
        return loss

    with doorbell.train():
        losses = [step(x, y) for _ in range(100)]
    assert losses[-1].item() < 0.05 < losses[0].item()
    assert (layers[1](layers[0](x).tanh()) > 0).tolist() == [[False], [True], [True], [False]]


def test_export_needs_a_capture(tmp_path):
    f = jit(lambda x: x + 1)
    with pytest.raises(ValueError, match="not captured yet"):
        f.export_c(str(tmp_path))
    with pytest.raises(ValueError, match="not captured yet"):
        f.export_wgsl(str(tmp_path))


def test_export_wgsl_writes_a_module(tmp_path):
    f = jit(lambda x: x * 2)
    for _ in range(2):
        f(Tensor([1.0, 2.0]))
    f.export_wgsl(str(tmp_path), name="twice", arguments=["x"], results=["y"])
    assert sorted(path.name for path in tmp_path.iterdir()) == ["twice.html", "twice.js", "twice.safetensors"]
