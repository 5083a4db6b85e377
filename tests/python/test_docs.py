"""What the documentation says is what happens: examples in docstrings and pages run, and nothing public lacks words."""
import doctest
import inspect
import os
import pathlib

import pytest

import doorbell
from doorbell import _doorbell

ROOT = pathlib.Path(os.environ["DOORBELL_SOURCE_ROOT"])
NAMES = {name: getattr(doorbell, name) for name in ("Tensor", "dtypes", "nn", "jit", "Variable", "Context", "Device")}
NAMES["doorbell"] = doorbell

# Said by what they stand for, or shown in the example of another.
WITHOUT_EXAMPLE = {
    "is_leaf", "is_realized", "devices", "itemsize", "mT", "max_shape", "requires_grad_", "shard_axis", "zero_grad",
    "grad",
}


def of_classes():
    """(name, docstring) of all classes of the extension, and of their members that are not special."""
    for name, value in vars(_doorbell).items():
        if inspect.isclass(value) and not name.startswith("_"):
            yield name, value.__doc__
            for member, attribute in vars(value).items():
                if not member.startswith("_") and not isinstance(attribute, int):
                    yield f"{name}.{member}", attribute.__doc__
        elif callable(value) and not name.startswith("_"):
            yield name, value.__doc__


def of_modules():
    for module in (doorbell, doorbell.dtypes, doorbell.errors, doorbell.nn, doorbell.nn.optim, doorbell.nn.state,
                   doorbell.nn.datasets, doorbell.nn.modules, doorbell.nn.losses, doorbell.nn.utils,
                   doorbell.nn.parallel, doorbell.distributed, doorbell.distributed.functional,
                   doorbell.distributed.checkpoint, doorbell.distributed.mesh, doorbell.distributed.optim):
        yield module.__name__, module.__doc__
        for name, value in vars(module).items():
            if getattr(value, "__module__", None) == module.__name__ and callable(value):
                yield f"{module.__name__}.{name}", value.__doc__
    for name in ("no_grad", "train", "jit", "Device"):
        yield name, inspect.getmodule(getattr(doorbell, name)).__doc__ if name == "Device" else getattr(
            doorbell, name).__doc__


DOCUMENTED = list(of_classes()) + list(of_modules())


def run_examples(text, name):
    runner = doctest.DocTestRunner(optionflags=doctest.NORMALIZE_WHITESPACE, verbose=False)
    test = doctest.DocTestParser().get_doctest(text, dict(NAMES), name, name, 0)
    said = []
    runner.run(test, out=said.append)
    assert runner.failures == 0, "".join(said)
    return len(test.examples)


@pytest.mark.parametrize("name, text", [(name, text) for name, text in DOCUMENTED if text and ">>>" in text])
def test_examples_of_docstrings(name, text, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # some write files
    assert run_examples(inspect.cleandoc(text), name) > 0


def test_everything_public_has_a_docstring():
    bare = [name for name, text in DOCUMENTED if not text or not text.strip()]
    few = {"bits", "min", "max", "smallest_normal", "tiny", "has_infinity", "is_floating_point", "is_signed", "name",
           "is_captured", "function", "weight", "bias", "running_mean", "running_var", "num_batches_tracked",
           "weight_ih", "weight_hh", "bias_ih", "bias_hh", "step", "get_last_lr", "zero_grad", "schedule_step"}
    assert [name for name in bare if name.split(".")[-1] not in few] == []


def test_every_method_of_tensor_has_an_example():
    lacking = [name for name, text in DOCUMENTED
               if name.startswith("Tensor.") and ">>>" not in (text or "") and name[7:] not in WITHOUT_EXAMPLE]
    assert lacking == []


@pytest.mark.parametrize("page", sorted(path.name for path in (ROOT / "docs" / "python").glob("*.md")))
def test_pages(page, tmp_path, monkeypatch):
    text = (ROOT / "docs" / "python" / page).read_text(encoding="utf-8")
    if "import torch" in text:
        pytest.importorskip("torch", reason="PyTorch is not installed: scripts/test --torch")
    monkeypatch.chdir(tmp_path)
    blocks = [block.split("```")[0] for block in text.split("```python\n")[1:]]
    assert blocks and all(">>>" in block for block in blocks), "a block that is no example"
    assert run_examples("\n".join(blocks), page) > 5
