#!/usr/bin/env python3
"""Counts the kernels that tinygrad runs for the cases of tests/e2e/kernel_counts_test.cc.

usage: PYTHONPATH=TINYGRAD python3 tests/e2e/tinygrad_kernel_counts.py
Prints "name count", one case a line; the test has the numbers as literals, of the commit it names.
Kernels are counted while realizing on the device NULL; inputs are realized before.
"""
import os

os.environ["DEV"] = "NULL"
from tinygrad import GlobalCounters, Tensor, nn
from tinygrad.helpers import Context
from tinygrad.nn.optim import Adam


def count(name, results):
    """results: a function from nothing to tensors."""
    GlobalCounters.reset()
    Tensor.realize(*results())
    print(name, GlobalCounters.kernel_count)


def memory(*shape):
    return Tensor.empty(*shape).realize()


def filled(module):
    for parameter in nn.state.get_parameters(module):
        parameter.replace(memory(*parameter.shape))
    return module


def adam(name, shape, parameters):
    weights = [memory(*shape) for _ in range(parameters)]
    optimizer = Adam(weights)
    for step in range(2):  # the first makes the state
        for weight in weights:
            weight.grad = memory(*shape)
        GlobalCounters.reset()
        optimizer.step()
    print(name, GlobalCounters.kernel_count)


def main():
    x = memory(64, 128)
    count("softmax", lambda: [x.softmax(-1)])
    count("log_softmax", lambda: [x.log_softmax(-1)])
    norm = filled(nn.LayerNorm(128))
    count("layernorm", lambda: [norm(x)])
    rms = filled(nn.RMSNorm(128))
    count("rmsnorm", lambda: [rms(x)])
    q, k, v = memory(4, 8, 64, 32), memory(4, 8, 64, 32), memory(4, 8, 64, 32)
    count("attention", lambda: [q.scaled_dot_product_attention(k, v)])
    count("causal attention", lambda: [q.scaled_dot_product_attention(k, v, is_causal=True)])
    conv, bn, image = filled(nn.Conv2d(16, 32, 3)), filled(nn.BatchNorm(32)), memory(8, 16, 28, 28)
    with Context(TRAINING=0):
        count("conv+bn+relu", lambda: [bn(conv(image)).relu()])
    with Context(TRAINING=1):
        count("conv+bn+relu, training",
              lambda: [bn(conv(image)).relu(), bn.running_mean, bn.running_var])
        adam("adam of one parameter", (256, 256), 1)
        adam("adam of four parameters", (64, 64), 4)


if __name__ == "__main__":
    main()
