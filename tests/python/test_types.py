"""The type stubs: they check, and programs that use the module check against them."""
import os
import pathlib
import subprocess
import sys
import textwrap

import pytest

import doorbell

pytest.importorskip("mypy", reason="pip install -r python/requirements.txt")
PACKAGE = pathlib.Path(doorbell.__file__).parent


@pytest.fixture(scope="module")
def mypy(tmp_path_factory):
    folder = tmp_path_factory.mktemp("mypy")

    def run(*arguments, **files):
        for name, text in files.items():
            (folder / f"{name}.py").write_text(text, encoding="utf-8")
        return subprocess.run([sys.executable, "-m", "mypy", "--strict", "--cache-dir", "cache", *arguments],
                              capture_output=True, text=True, cwd=folder,
                              env={**os.environ, "MYPYPATH": str(PACKAGE.parent)})

    return run


def test_the_package_checks(mypy):
    done = mypy(str(PACKAGE))
    assert done.returncode == 0, done.stdout


def test_programs_check(mypy):
    good = textwrap.dedent("""
        import numpy as np
        import doorbell
        from doorbell import Tensor, dtypes, jit, nn

        x: Tensor = Tensor([[1.0, 2.0]], dtype=dtypes.float32, requires_grad=True)
        y: Tensor = (2 * x + np.ones(2)).sum(dim=0, keepdim=True).reshape(1, -1)
        shape: tuple[int, ...] = y.shape
        values, indices = y.sort(descending=True)
        first: Tensor = values[0, ..., None]
        layer = nn.Linear(2, 3, bias=False)
        z: Tensor = layer(x)
        optimizer = nn.optim.SGD(nn.state.get_parameters(layer), lr=0.1, momentum=0.9)
        optimizer.step(z)

        @jit
        def step(x: Tensor) -> Tensor:
            return x.relu()

        with doorbell.no_grad(), doorbell.Context(DEBUG=0):
            step(x)
        flag: bool = x.allclose(x)
        array: "np.ndarray[tuple[int, ...], np.dtype[np.float32]]" = x.numpy()
    """)
    done = mypy("good.py", good=good)
    assert done.returncode == 0, done.stdout
    wrong = ["Tensor([1]).sum(axis='a')", "Tensor([1]).no_such_method()", "nn.Linear(2)", "Tensor([1]).shape = 3"]
    done = mypy("bad.py", bad="\n".join(["from doorbell import Tensor, nn", *wrong, ""]))
    lines = {int(line.split(":")[1]) for line in done.stdout.split("\n") if ": error:" in line}
    assert lines == {2, 3, 4, 5}, done.stdout
