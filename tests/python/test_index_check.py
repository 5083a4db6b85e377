"""CHECK_INDEX: IndexError for an index in a tensor that names no place, from every function that takes indices."""
import os
import subprocess
import sys
import threading

import numpy as np
import pytest

import doorbell
from doorbell import Tensor, nn


def rows():
    return Tensor.arange(12).reshape(3, 4).float()


def assign(index):
    x = rows().contiguous().realize()
    x[index] = 1
    return x


ENTRIES = {
    "get": (lambda i: rows()[i], -3, 3, 0),
    "get second": (lambda i: rows()[:, i], -4, 4, 1),
    "get array": (lambda i: rows()[i.numpy()], -3, 3, 0),
    "set": (assign, -3, 3, 0),
    "gather": (lambda i: rows().gather(1, i.reshape(1, 1)), 0, 4, 1),
    "scatter": (lambda i: rows().scatter(0, i.reshape(1, 1), 7), 0, 3, 0),
    "scatter of an array": (lambda i: rows().scatter(0, i.reshape(1, 1), np.ones((1, 1), np.float32)), 0, 3, 0),
    "scatter add": (lambda i: rows().scatter(0, i.reshape(1, 1), 7, reduce="add"), 0, 3, 0),
    "scatter_add": (lambda i: rows().scatter_add(1, i.reshape(1, 1), rows()), 0, 4, 1),
    "scatter_reduce": (lambda i: rows().scatter_reduce(1, i.reshape(1, 1), rows(), "amax"), 0, 4, 1),
    "one_hot": (lambda i: i.one_hot(5), 0, 5, 1),
    "embedding": (lambda i: nn.Embedding(4, 2)(i), 0, 4, 0),
    "cross_entropy": (lambda i: rows()[:1].cross_entropy(i), 0, 4, 1),
    "nll_loss": (lambda i: rows()[:1].log_softmax().nll_loss(i), 0, 4, 1),
    "sparse": (lambda i: rows()[:1].sparse_categorical_crossentropy(i), 0, 4, 1),
    "CrossEntropyLoss": (lambda i: nn.CrossEntropyLoss()(rows()[:1], i), 0, 4, 1),
    "NLLLoss": (lambda i: nn.NLLLoss()(rows()[:1].log_softmax(), i), 0, 4, 1),
    "max_unpool2d": (lambda i: Tensor.ones(1, 1, 1, 1).max_unpool2d(i.reshape(1, 1, 1, 1)), 0, 4, 2),
}


@pytest.mark.parametrize("name", ENTRIES)
def test_every_entry(name):
    run, lowest, size, axis = ENTRIES[name]
    with doorbell.Context(CHECK_INDEX=1):
        for index in (lowest, size - 1):
            run(Tensor([index], dtype=doorbell.int64)).realize()
        for index in (lowest - 1, size, 1 << 40, -(1 << 40)):
            with pytest.raises(IndexError) as caught:
                run(Tensor([index], dtype=doorbell.int64))
            assert str(caught.value) == f"index {index} is out of range for axis {axis} of size {size}"
    run(Tensor([size], dtype=doorbell.int64)).realize()


def test_errors_are_of_the_library():
    with doorbell.Context(CHECK_INDEX=1), pytest.raises(doorbell.Error) as caught:
        rows().gather(0, Tensor([[3]]))
    assert caught.value.kind == "invalid"


def test_ignored_labels():
    with doorbell.Context(CHECK_INDEX=1):
        rows()[:2].cross_entropy(Tensor([1, -100])).realize()
        with pytest.raises(IndexError):
            rows()[:2].cross_entropy(Tensor([1, -100]), ignore_index=-1)


def test_jitted_functions():
    @doorbell.jit
    def pick(index):
        return rows()[index]

    with doorbell.Context(CHECK_INDEX=1):
        for _ in range(3):
            assert pick(Tensor([2])).tolist() == [[8, 9, 10, 11]]
            with pytest.raises(IndexError):
                pick(Tensor([3]))


def test_the_environment_names_it():
    code = "from doorbell import Tensor\nTensor.arange(3)[Tensor.full((1,), 5)]"
    ran = subprocess.run([sys.executable, "-c", code], env=os.environ | {"CHECK_INDEX": "1"}, capture_output=True,
                         text=True)
    assert ran.stderr.strip().endswith("IndexError: index 5 is out of range for axis 0 of size 3"), ran.stderr


def test_threads_check_at_once():
    def work():
        with doorbell.Context(CHECK_INDEX=1):
            for _ in range(20):
                rows()[:1].cross_entropy(Tensor([1]))
                rows()[Tensor([1])]

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    work()
    for thread in threads:
        thread.join(60)
        assert not thread.is_alive()
