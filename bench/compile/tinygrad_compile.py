"""tinygrad's time from a lazy graph to rendered kernels, for the graphs of workloads.cc, one per process.

usage: PYTHONPATH=TINYGRAD DEV=NULL PARALLEL=0 CACHELEVEL=0 CCACHE=0 python3 tinygrad_compile.py WORKLOAD
Prints one line of JSON with the fields of bench_compile's own child. Nothing is executed.
"""
import json
import resource
import sys
import time

import tinygrad.engine.realize as realize
import tinygrad.tensor
from tinygrad import Context, Tensor, nn
from tinygrad.uop.ops import Ops

spent = {"schedule": 0.0, "compile": 0.0}
kernels = []


def timed(name, function):
    def call(*args, **kwargs):
        start = time.perf_counter()
        try:
            return function(*args, **kwargs)
        finally:
            spent[name] += time.perf_counter() - start
    return call


def counting(schedule):
    def call(*args, **kwargs):
        result = schedule(*args, **kwargs)
        kernels.extend(item.src[0].key for item in result[0].src if item.src[0].op is Ops.SINK)
        return result
    return call


def compile_only(*tensors):
    linear, _ = Tensor.linear_with_vars(*tensors)
    realize.compile_linear(linear)


def empty_weights(model):
    for weight in nn.state.get_parameters(model):
        weight.replace(Tensor.empty(*weight.shape, dtype=weight.dtype))
    return model


class Block:
    def __init__(self, width, heads):
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.projection = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.widen, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def __call__(self, x, cache):
        batch, length, width = x.shape
        parts = self.qkv(self.norm1(x)).reshape(batch, length, 3, self.heads, width // self.heads)
        q, k, v = (part[0] for part in parts.permute(2, 0, 3, 1, 4).split(1))
        if cache is not None:
            k, v = cache[0].cat(k, dim=2), cache[1].cat(v, dim=2)
        attended = q.scaled_dot_product_attention(k, v, is_causal=cache is None)
        x = x + self.projection(attended.transpose(1, 2).reshape(batch, length, width))
        return x + self.narrow(self.widen(self.norm2(x)).gelu())


class Gpt:
    def __init__(self, layers=12, width=768, heads=12, vocabulary=50257, context=1024):
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.blocks, self.norm = [Block(width, heads) for _ in range(layers)], nn.LayerNorm(width)

    def __call__(self, numbers, caches=None, first=0):
        x = self.tokens(numbers) + self.positions(Tensor.arange(first, first + numbers.shape[1]))
        for i, block in enumerate(self.blocks):
            x = block(x, caches[i] if caches else None)
        return self.norm(x)[:, -1] @ self.tokens.weight.T


def add():
    a, b = Tensor.empty(1024, 1024), Tensor.empty(1024, 1024)
    return lambda: compile_only(a + b)


def matmul():
    a, b = Tensor.empty(1024, 1024), Tensor.empty(1024, 1024)
    return lambda: compile_only(a @ b)


def softmax():
    a = Tensor.empty(4096, 4096)
    return lambda: compile_only(a.softmax())


def layernorm():
    a, w, b = Tensor.empty(4096, 4096), Tensor.empty(4096), Tensor.empty(4096)
    return lambda: compile_only(a.layernorm() * w + b)


def conv():
    x, w = Tensor.empty(1, 64, 56, 56), Tensor.empty(64, 64, 3, 3)
    return lambda: compile_only(x.conv2d(w, padding=1))


def resnet18():
    from extra.models.resnet import ResNet
    model, x = empty_weights(ResNet(18, num_classes=1000)), Tensor.empty(1, 3, 224, 224)
    return lambda: compile_only(model(x))


def gpt128():
    model, numbers = empty_weights(Gpt()), Tensor.empty(1, 128, dtype="int32")
    return lambda: compile_only(model(numbers))


def gpt1():
    model, numbers = empty_weights(Gpt()), Tensor.empty(1, 1, dtype="int32")
    caches = [(Tensor.empty(1, 12, 127, 64), Tensor.empty(1, 12, 127, 64)) for _ in range(12)]
    return lambda: compile_only(model(numbers, caches, 127))


def mnist():
    import examples.beautiful_mnist as example
    model = empty_weights(example.Model())
    optimizer = nn.optim.Adam(nn.state.get_parameters(model))
    images, labels = Tensor.empty(60000, 1, 28, 28), Tensor.empty(60000, dtype="int32")
    Tensor.realize(*nn.state.get_parameters(optimizer), *nn.state.get_parameters(model))

    def step():
        with Context(TRAINING=1):
            optimizer.zero_grad()
            samples = Tensor.randint(512, high=images.shape[0])
            loss = model(images[samples]).sparse_categorical_crossentropy(labels[samples]).backward()
            compile_only(loss, *optimizer.schedule_step())
    return step


WORKLOADS = {f.__name__: f for f in (add, matmul, softmax, layernorm, conv, resnet18, gpt128, gpt1, mnist)}


def main():
    tinygrad.tensor.create_linear_with_vars = timed(
        "schedule", counting(tinygrad.tensor.create_linear_with_vars))
    realize.lower_and_compile = timed("compile", realize.lower_and_compile)
    step = WORKLOADS[sys.argv[1]]()
    spent.update(schedule=0.0, compile=0.0)
    kernels.clear()
    start = time.perf_counter()
    step()
    total = time.perf_counter() - start
    print(json.dumps({
        "kernels": len(kernels), "distinct": len(set(kernels)),
        "build_ms": (total - spent["schedule"] - spent["compile"]) * 1e3,
        "schedule_ms": spent["schedule"] * 1e3, "compile_ms": spent["compile"] * 1e3,
        "total_ms": total * 1e3,
        "peak_mib": resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024}))


if __name__ == "__main__":
    main()
