"""Python's threads and signals: long work releases the interpreter's lock, Ctrl-C ends a wait."""
import os
import signal
import subprocess
import sys
import threading
import time

import numpy as np

import doorbell
from doorbell import Tensor, jit

# Some seconds of work in one kernel, on any machine, that cannot be folded away.
SLOW = """
import sys, threading, time
from doorbell import Tensor
def slow(n):
    x = Tensor.arange(n).float()
    return (x.reshape(-1, 1) * 1e-6 + x.reshape(1, -1)).sin().sum()
"""


def run(program, **options):
    return subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=120, **options)


def test_another_thread_runs_while_one_computes():
    ticks = []
    done = threading.Event()

    def count():
        while not done.is_set():
            ticks.append(time.perf_counter())
            time.sleep(0.001)

    thread = threading.Thread(target=count)
    thread.start()
    start = time.perf_counter()
    x = Tensor.arange(30000).float()
    (x.reshape(-1, 1) * 1e-6 + x.reshape(1, -1)).sin().sum().item()
    spent = time.perf_counter() - start
    done.set()
    thread.join()
    during = [tick for tick in ticks if start < tick < start + spent]
    assert spent > 0.05, "the work is too short to tell"
    assert len(during) > 5, (spent, len(during))


def test_two_threads_realize_at_once():
    base = Tensor.arange(1000).float()
    failures = []

    def work(number):
        try:
            for i in range(50):
                value = (base * number + i).sum().item()
                expected = number * 499500.0 + 1000 * i
                if abs(value - expected) > 1e-3 * expected + 1:
                    failures.append((number, i, value, expected))
        except Exception as error:  # noqa: BLE001: any is a failure
            failures.append(error)

    threads = [threading.Thread(target=work, args=(number,)) for number in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert failures == []


def test_threads_may_share_a_tensor():
    for _ in range(30):
        shared = (Tensor.rand(64, 64) @ Tensor.rand(64, 64)).relu()
        results = [None] * 4

        def read(slot):
            results[slot] = shared.numpy().sum() if slot % 2 else shared.realize().sum().item()

        threads = [threading.Thread(target=read, args=(slot,)) for slot in range(4)]
        for thread in threads:
            thread.start()
        for thread in threads:
            thread.join()
        np.testing.assert_allclose(results, results[0], rtol=1e-4)


def test_a_jitted_function_from_several_threads():
    double = jit(lambda x: x * 2)
    wrong = []

    def work():
        for i in range(50):
            if double(Tensor([float(i)])).item() != 2.0 * i:
                wrong.append(i)

    threads = [threading.Thread(target=work) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


def test_arrays_are_released_from_any_thread():
    def churn():
        for _ in range(200):
            Tensor.from_numpy(np.ones(10, dtype=np.float32)).sum().item()

    threads = [threading.Thread(target=churn) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()


def test_ctrl_c_ends_a_wait():
    program = SLOW + """
slow(2000).item()  # compiled
print("ready", flush=True)
try:
    for _ in range(1000):
        slow(60000).item()
except KeyboardInterrupt:
    print("interrupted", flush=True)
    import os
    os._exit(0)
"""
    with subprocess.Popen([sys.executable, "-c", program], stdout=subprocess.PIPE, text=True) as process:
        assert process.stdout.readline().strip() == "ready"
        time.sleep(1.0)
        start = time.monotonic()
        process.send_signal(signal.SIGINT)
        assert process.stdout.readline().strip() == "interrupted"
        assert time.monotonic() - start < 20
        assert process.wait(timeout=60) == 0


def test_a_process_ends_with_work_under_way():
    done = run(SLOW + "threading.Thread(target=lambda: slow(20000).item(), daemon=True).start()\ntime.sleep(0.2)\n")
    assert done.returncode == 0, done.stderr
    done = run("import numpy, doorbell\nx = doorbell.Tensor.from_numpy(numpy.ones(3)) + 1\nx.realize()\n")
    assert (done.returncode, done.stderr) == (0, "")


def test_scopes_are_a_threads_own():
    seen = []
    with doorbell.no_grad():
        thread = threading.Thread(target=lambda: seen.append(doorbell.is_grad_enabled()))
        thread.start()
        thread.join()
    assert seen == [True]
