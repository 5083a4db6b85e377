"""tinygrad's cost of asking for something again: the cases of bench_dispatch, under the same names, in microseconds.

usage: PYTHONPATH=TINYGRAD DEV=NULL|CPU:LLVM python3 tinygrad_dispatch.py
"""
import json
import statistics
import time

from tinygrad import Device, Tensor, TinyJit, Variable


def measure(body, samples=15, sample_seconds=0.05):
    for _ in range(5):
        body()
    start = time.perf_counter()
    body()
    calls = max(1, int(sample_seconds / (time.perf_counter() - start)))
    times = []
    for _ in range(samples):
        start = time.perf_counter()
        for _ in range(calls):
            body()
        times.append((time.perf_counter() - start) / calls)
    return statistics.median(times) * 1e6


def main():
    device = Device[Device.DEFAULT]
    a, b = (Tensor.full((16,), 1.5).contiguous().realize() for _ in range(2))

    def waited():
        (a + b).realize()
        device.synchronize()

    def chain():
        x = a
        for _ in range(10):
            x = (x + b).contiguous()
        x.realize()

    def replay(kernels):
        @TinyJit
        def step(x):
            for _ in range(kernels):
                x = (x + b).realize()
            return x
        for _ in range(3):
            step(a)

        def body():
            step(a)
            device.synchronize()
        return body

    def replay_with_variable():
        length = Variable("dispatch_length", 1, 16)

        @TinyJit
        def step(x, n):
            return (x + b)[:n].sum().realize()
        count = 0

        def body():
            nonlocal count
            count = count % 16 + 1
            step(a, length.bind(count))
            device.synchronize()
        return body

    figures = {
        "build a + b, not realized": measure(lambda: a + b),
        "(a + b).realize()": measure(lambda: (a + b).realize()),
        "same, and wait for the device": measure(waited),
        "chain of 10 kernels, one realize": measure(chain),
        "jit: 1 kernel, and wait": measure(replay(1)),
        "jit: chain of 100 kernels, and wait": measure(replay(100)),
        "jit: 1 kernel with a variable, and wait": measure(replay_with_variable()),
    }
    alive = [Tensor.empty(16) + i for i in range(10000)]
    figures["same, among 10,000 live tensors"] = measure(lambda: (a + b).realize())
    assert len(alive) == 10000
    print(json.dumps(figures))


if __name__ == "__main__":
    main()
