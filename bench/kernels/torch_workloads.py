"""PyTorch's part of bench_kernels: the tasks of its workloads, eager, in one process.

usage: python torch_workloads.py THREADS
Answers each line of JSON on standard input with one: {"do": "describe"}, {"do": "prepare", "task": {...}} and
{"do": "sample", "seconds": 0.05}. Inputs are of the same shapes and distributions as in workloads.h; results go to
`out` where PyTorch takes one.
"""
import ctypes
import json
import os
import re
import sys
import tempfile
import time

import torch
import torch.nn.functional as F

import torch_models as models

DTYPES = {"f32": torch.float32, "bf16": torch.bfloat16, "i8": torch.int8}


def values(*shape, dtype=torch.float32):
    if dtype == torch.int8:
        return torch.randint(-127, 128, shape, dtype=dtype)
    return torch.randn(shape).to(dtype)


def matmul(task):
    dtype = DTYPES[task.get("dtype", "f32")]
    a, b = values(task["m"], task["k"], dtype=dtype), values(task["k"], task["n"], dtype=dtype)
    if dtype == torch.int8:
        return lambda: torch._int_mm(a, b)
    out = torch.empty(task["m"], task["n"], dtype=dtype)
    return lambda: torch.mm(a, b, out=out)


def conv(task):
    kernel, stride, groups, size = task["kernel"], task["stride"], task["groups"], task["size"]
    x = values(task["batch"], task["in"], size, size)
    w = values(task["out"], task["in"] // groups, kernel, kernel)
    padding = kernel // 2
    if task["result"] == "output":
        return lambda: F.conv2d(x, w, stride=stride, padding=padding, groups=groups)
    gradient = torch.randn_like(F.conv2d(x, w, stride=stride, padding=padding, groups=groups))
    wanted = [task["result"] == "input", task["result"] == "weight", False]
    return lambda: torch.ops.aten.convolution_backward(
        gradient, x, w, None, [stride] * 2, [padding] * 2, [1, 1], False, [0, 0], groups, wanted)


def elementwise(task):
    n = task["side"]
    a, out = values(n, n), torch.empty(n, n)
    if task["what"] == "add":
        b = values(n, n)
        return lambda: torch.add(a, b, out=out)
    if task["what"] == "sum":
        return lambda: a.sum()
    if task["what"] == "softmax":
        return lambda: torch.softmax(a, 1, out=out)
    if task["what"] == "layernorm":
        w, b = values(n), values(n)
        return lambda: F.layer_norm(a, (n,), w, b)
    if task["what"] == "gelu":
        return lambda: F.gelu(a)
    x, column = values(n), torch.empty(n)
    return lambda: torch.mv(a, x, out=column)


def attention(task):
    q, k, v = (values(1, task["heads"], task["length"], task["width"]) for _ in range(3))
    return lambda: F.scaled_dot_product_attention(q, k, v)


def image_model(task):
    model = {"resnet18": lambda: models.ResNet([2, 2, 2, 2], False),
             "resnet50": lambda: models.ResNet([3, 4, 6, 3], True),
             "mobilenet v2": models.MobileNetV2}[task["what"]]()
    x = values(task["batch"], 3, 224, 224)
    if not task["training"]:
        model.eval()
        return lambda: model(x)
    labels = torch.randint(0, 1000, (task["batch"],))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.01, momentum=0.9)
    return training(model, optimizer, lambda: F.cross_entropy(model(x), labels))


def training(model, optimizer, loss_of):
    model.train()

    def step():
        optimizer.zero_grad()
        loss = loss_of()
        loss.backward()
        optimizer.step()
    return step


def gpt(task):
    model = models.Gpt(task["layers"], task["width"], task["heads"], task["vocabulary"], task["context"])
    batch, length, past = task["batch"], task["length"], task["past"]
    numbers = torch.randint(0, task["vocabulary"], (batch, length))
    if task["training"]:
        labels = torch.randint(0, task["vocabulary"], (batch, length))
        optimizer = torch.optim.AdamW(model.parameters(), lr=1e-3)
        return training(model, optimizer,
                        lambda: F.cross_entropy(model(numbers, every=True).flatten(0, 1), labels.flatten()))
    model.eval()
    shape = (batch, task["heads"], past, task["width"] // task["heads"])
    caches = [(values(*shape), values(*shape)) for _ in range(task["layers"])] if past else None
    return lambda: model(numbers, caches, past)


def mnist(task):
    net = models.convnet()
    images, labels = torch.rand(task["images"], 1, 28, 28), torch.randint(0, 10, (task["images"],))
    optimizer = torch.optim.Adam(net.parameters(), lr=1e-3)

    def loss_of():
        samples = torch.randint(0, task["images"], (task["batch"],))
        return F.cross_entropy(net(images[samples]), labels[samples])
    return training(net, optimizer, loss_of)


KINDS = {"matmul": matmul, "conv": conv, "elementwise": elementwise, "attention": attention,
         "image model": image_model, "gpt": gpt, "mnist": mnist}


class Session:
    def __init__(self):
        self.run = None

    def describe(self, _):
        return {"description": f"PyTorch {torch.__version__}, {torch.get_num_threads()} threads; {chosen_kernels()}"}

    def prepare(self, question):
        task = question["task"]
        make = KINDS.get(task.get("kind"))
        self.run = None
        if make is None:
            return {"able": False}
        trains = task.get("training") or task["kind"] == "mnist"
        self.mode = torch.enable_grad if trains else torch.inference_mode
        with self.mode():
            self.run = make(task)
            self.run()
        return {"able": True}

    def sample(self, question):
        with self.mode():
            once = self.timed(1)
            return {"seconds": self.timed(max(1, int(question["seconds"] / once)))}

    def timed(self, calls):
        start = time.perf_counter()
        for _ in range(calls):
            self.run()
        return (time.perf_counter() - start) / calls


def chosen_kernels():
    """What MKL and oneDNN say that they run on, in their verbose output."""
    a, x, w = torch.ones(64, 64), torch.ones(1, 64, 56, 56), torch.ones(64, 64, 3, 3)
    with tempfile.TemporaryFile() as told:
        sys.stdout.flush()
        kept = os.dup(1)
        os.dup2(told.fileno(), 1)
        with torch.backends.mkl.verbose(torch.backends.mkl.VERBOSE_ON):
            torch.mm(a, a)
        with torch.backends.mkldnn.verbose(torch.backends.mkldnn.VERBOSE_ON):
            F.conv2d(x, w)
        ctypes.CDLL(None).fflush(None)
        os.dup2(kept, 1)
        told.seek(0)
        text = told.read().decode(errors="replace")
    mkl = re.search(r"oneMKL.*", text)
    onednn = re.search(r"cpu,isa:([^\n]*)", text)
    return "; ".join((mkl.group(0).strip() if mkl else "MKL silent",
                      f"oneDNN: {onednn.group(1)}" if onednn else "oneDNN silent"))


def main():
    torch.set_num_threads(int(sys.argv[1]))
    torch.manual_seed(0)
    answers, session = os.fdopen(os.dup(1), "w"), Session()
    os.dup2(2, 1)  # what a library prints is no answer
    for line in sys.stdin:
        question = json.loads(line)
        try:
            answer = getattr(session, question["do"])(question)
        except (RuntimeError, KeyError) as error:
            answer = {"error": f"{type(error).__name__}: {error}"}
        print(json.dumps(answer), file=answers, flush=True)


main()
