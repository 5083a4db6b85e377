"""Random programs: each step is applied to a Doorbell tensor and to a PyTorch tensor, which is the reference.

A program is decided by its seed alone. Values stay of about unit size and away from the places where a function jumps,
so that both sides may round differently and still agree.
"""
import random

import numpy as np
import torch

import doorbell
from doorbell import Tensor

TOLERANCE = {"float64": 1e-9, "float32": 2e-4}


class Mismatch(AssertionError):
    pass


def compare(ours, theirs, dtype, what):
    got = ours.numpy()
    expected = theirs.detach().numpy()
    if got.shape != expected.shape:
        raise Mismatch(f"{what}: shape {got.shape}, expected {expected.shape}")
    scale = max(1.0, float(np.max(np.abs(expected[np.isfinite(expected)]), initial=0.0)))
    if not np.allclose(got, expected, rtol=TOLERANCE[dtype], atol=TOLERANCE[dtype] * scale, equal_nan=True):
        worst = float(np.max(np.abs(got - expected)))
        raise Mismatch(f"{what}: off by {worst:g} of {scale:g}\n"
                       f"  ours   {got.ravel()[:8]}\n  theirs {expected.ravel()[:8]}")


class Pair:
    """A value on both sides."""

    def __init__(self, ours, theirs):
        self.ours, self.theirs = ours, theirs

    @property
    def shape(self):
        return tuple(self.theirs.shape)

    def map(self, function, reference=None):
        return Pair(function(self.ours), (reference or function)(self.theirs))


def squash(pair):
    """Back to about unit size."""
    return pair.map(lambda x: x.tanh())


class Program:
    MOST_ELEMENTS = 600

    def __init__(self, seed, devices):
        self.random = random.Random(seed)
        self.numpy = np.random.default_rng(seed)
        self.dtype = self.random.choice(["float32", "float64"])
        self.devices = devices
        self.leaves = []
        self.steps = []

    # ---- values ----
    def sizes(self, rank=None):
        rank = self.random.randint(0, 4) if rank is None else rank
        return tuple(self.random.choice([1, 2, 3, 4, 5, 7]) for _ in range(rank))

    def noise(self, shape):
        return np.asarray(self.numpy.uniform(-1, 1, shape), dtype=self.dtype)

    def leaf(self, shape=None):
        values = self.noise(self.sizes() if shape is None else shape)
        device = self.random.choice(self.devices)
        ours = Tensor(values, device=device, requires_grad=True)
        theirs = torch.tensor(values, requires_grad=True)
        self.leaves.append(Pair(ours, theirs))
        return self.leaves[-1]

    def on_one_device(self, *pairs):
        device = pairs[0].ours.device
        return [pairs[0]] + [p if p.ours.device == device else Pair(p.ours.to(device), p.theirs) for p in pairs[1:]]

    def axis(self, x):
        return self.random.randrange(len(x.shape))

    # ---- steps: a value from values of the pool ----
    def unary(self, x):
        name = self.random.choice(["tanh", "sin", "sigmoid", "exp", "square", "relu", "abs", "neg", "cos", "erf",
                                   "softplus", "atan", "sqrt_of_square", "log_of_square", "reciprocal", "gelu_tanh"])
        if name == "sqrt_of_square":
            return x.map(lambda v: (v * v + 0.1).sqrt())
        if name == "log_of_square":
            return x.map(lambda v: (v * v + 0.5).log())
        if name == "reciprocal":
            return x.map(lambda v: (v * v + 0.5).reciprocal())
        if name == "softplus":
            return x.map(lambda v: v.softplus(), torch.nn.functional.softplus)
        if name == "gelu_tanh":
            return x.map(lambda v: v.gelu(approximate="tanh"),
                         lambda v: torch.nn.functional.gelu(v, approximate="tanh"))
        return x.map(lambda v: getattr(v, name)())

    def binary(self, x):
        y = self.leaf(x.shape[self.random.randint(0, len(x.shape)):])
        x, y = self.on_one_device(x, y)
        name = self.random.choice(["+", "-", "*", "/", "maximum", "minimum", "where", "twice"])
        both = {
            "+": lambda a, b: a + b, "-": lambda a, b: a - b, "*": lambda a, b: a * b,
            "/": lambda a, b: a / (b * b + 0.5), "maximum": lambda a, b: a.maximum(b),
            "minimum": lambda a, b: a.minimum(b), "where": lambda a, b: (a > b).where(a, b),
            "twice": lambda a, b: a * b + a,
        }[name]
        reference = both
        if name == "where":
            reference = lambda a, b: torch.where(a > b, a, b)
        return Pair(both(x.ours, y.ours), reference(x.theirs, y.theirs))

    def reduce(self, x):
        if not x.shape:
            return x
        axis, keep = self.axis(x), self.random.random() < 0.5
        name = self.random.choice(["sum", "mean", "amax", "amin", "prod", "logsumexp"])
        return squash(x.map(lambda v: getattr(v, {"amax": "max", "amin": "min"}.get(name, name))(axis, keepdim=keep),
                            lambda v: getattr(v, name)(axis, keepdim=keep)))

    def move(self, x):
        if not x.shape:
            return x.map(lambda v: v.reshape(1, 1).expand(3, 2))
        kind = self.random.choice(["permute", "flip", "pad", "slice", "stride", "flatten", "unsqueeze", "cat", "stack",
                                   "expand", "roll", "index", "repeat"])
        axis = self.axis(x)
        if kind == "permute":
            order = self.random.sample(range(len(x.shape)), len(x.shape))
            return x.map(lambda v: v.permute(order))
        if kind == "flip":
            return x.map(lambda v: v.flip(axis))
        if kind == "pad":
            before, after = self.random.randint(0, 2), self.random.randint(0, 3)
            widths = [(0, 0)] * len(x.shape)
            widths[axis] = (before, after)
            flat = [n for pair in reversed(widths) for n in pair]
            return x.map(lambda v: v.pad(flat), lambda v: torch.nn.functional.pad(v, flat))
        if kind in ("slice", "stride"):
            start = self.random.randrange(x.shape[axis])
            stop = self.random.randint(start + 1, x.shape[axis])
            step = 2 if kind == "stride" else 1
            where = (slice(None),) * axis + (slice(start, stop, step),)
            return x.map(lambda v: v[where])
        if kind == "flatten":
            return x.map(lambda v: v.reshape(-1))
        if kind == "unsqueeze":
            return x.map(lambda v: v.unsqueeze(axis))
        if kind == "cat":
            return Pair(Tensor.cat(x.ours, x.ours * 2, dim=axis), torch.cat([x.theirs, x.theirs * 2], axis))
        if kind == "stack":
            return Pair(Tensor.stack(x.ours, x.ours + 1, dim=axis), torch.stack([x.theirs, x.theirs + 1], axis))
        if kind == "expand":
            return x.map(lambda v: v.unsqueeze(0).expand(3, *x.shape))
        if kind == "roll":
            return x.map(lambda v: v.roll(1, axis))
        if kind == "index":
            places = [self.random.randrange(x.shape[0]) for _ in range(4)]
            return Pair(x.ours[Tensor(places, device=x.ours.device)], x.theirs[torch.tensor(places)])
        return x.map(lambda v: v.repeat(*([2] + [1] * (len(x.shape) - 1))))

    def product(self, x):
        if len(x.shape) < 2:
            return self.unary(x)
        y = self.leaf((x.shape[-1], self.random.choice([1, 3, 5, 8, 17])))
        x, y = self.on_one_device(x, y)
        return squash(Pair(x.ours @ y.ours, x.theirs @ y.theirs))

    def window(self, x):
        size = self.random.choice([5, 6, 7, 8, 9])
        channels = self.random.choice([1, 2, 3])
        image = self.leaf((1, channels, size, size))
        kernel = self.random.choice([2, 3])
        kind = self.random.choice(["max_pool2d", "avg_pool2d", "conv2d"])
        if kind == "conv2d":
            weight = self.leaf((4, channels, kernel, kernel))
            image, weight = self.on_one_device(image, weight)
            made = Pair(image.ours.conv2d(weight.ours, padding=1),
                        torch.nn.functional.conv2d(image.theirs, weight.theirs, padding=1))
            return squash(made)
        return image.map(lambda v: getattr(v, kind)(kernel), lambda v: getattr(torch.nn.functional, kind)(v, kernel))

    def row(self, x):
        if not x.shape:
            return x
        axis = self.axis(x)
        name = self.random.choice(["softmax", "log_softmax", "cumsum", "std"])
        if name == "std" and x.shape[axis] < 2:
            name = "softmax"
        if name == "std":
            # Rows of equal values have no slope: what is left of them after rounding is noise on both sides.
            ramp = np.linspace(0, 9, x.shape[axis]).astype(self.dtype)
            ramp = ramp.reshape([-1 if i == axis else 1 for i in range(len(x.shape))])
            return squash(Pair((x.ours + Tensor(ramp, device=x.ours.device)).std(axis),
                               (x.theirs + torch.tensor(ramp)).std(axis)))
        return x.map(lambda v: getattr(v, name)(axis))

    def assign(self, x):
        """Into a copy; what was read before keeps what it saw."""
        if not x.shape or 0 in x.shape:
            return x
        ours, theirs = x.ours.detach().clone(), x.theirs.detach().clone()
        before_ours, before_theirs = ours * 2, theirs * 2
        start = self.random.randrange(x.shape[0])
        value = self.random.uniform(-1, 1)
        if self.random.random() < 0.5:
            ours[start:] = value
            theirs[start:] = value
        else:
            ours[start] += value
            theirs[start] += value
        return Pair(ours + before_ours + x.ours, theirs + before_theirs + x.theirs)

    def device(self, x):
        to = self.random.choice(self.devices)
        return Pair(x.ours.to(to), x.theirs)

    def realize(self, x):
        x.ours.realize()
        return x

    STEPS = [unary, unary, unary, binary, binary, binary, reduce, move, move, move, product, window, row, row, assign,
             device, realize]

    def step(self, pool):
        x = pool[-1 - self.random.randrange(min(3, len(pool)))]
        if x.theirs.numel() > self.MOST_ELEMENTS:
            return squash(x.map(lambda v: v.reshape(-1)[:50].sum()))
        step = self.random.choice(self.STEPS)
        self.steps.append(step.__name__)
        return step(self, x)

    def run(self):
        """Values of the last steps and the gradient of every leaf."""
        pool = [self.leaf(), self.leaf()]
        for _ in range(self.random.randint(2, 9)):
            pool.append(self.step(pool))
        kept = pool[-2:]
        ours = sum(self.total(p.ours) for p in kept)
        theirs = sum((p.theirs * p.theirs).sum() for p in kept)
        compare(ours, theirs, self.dtype, "the sum")
        if theirs.requires_grad:
            ours.backward()
            theirs.backward()
        for number, leaf in enumerate(self.leaves):
            if leaf.theirs.grad is None:
                continue
            if leaf.ours.grad is None:
                raise Mismatch(f"leaf {number} has no gradient, expected {leaf.theirs.grad.ravel()[:8]}")
            compare(leaf.ours.grad, leaf.theirs.grad, self.dtype, f"the gradient of leaf {number}")
        for number, pair in enumerate(kept):
            compare(pair.ours, pair.theirs, self.dtype, f"value {number}")

    def total(self, x):
        return (x * x).sum().to(self.devices[0])

    def run_jit(self):
        """The forward part as a jitted function of one input, called with several."""
        seed, shape = self.random.randrange(1 << 30), self.sizes(self.random.randint(1, 3))

        def forward(value):
            inner = Program(seed, self.devices[:1])
            inner.dtype = self.dtype
            pool = [value]
            for _ in range(4):
                x = pool[-1]
                step = inner.random.choice([Program.unary, Program.move, Program.row, Program.reduce])
                pool.append(x if x.theirs.numel() > self.MOST_ELEMENTS else step(inner, x))
            return pool[-1]

        reference = {}

        @doorbell.jit
        def ours(x):
            return forward(Pair(x, reference["x"])).ours + 0

        for _ in range(4):
            values = self.noise(shape)
            reference["x"] = torch.tensor(values)
            expected = forward(Pair(Tensor(values, device=self.devices[0]), reference["x"])).theirs
            compare(ours(Tensor(values, device=self.devices[0])), expected, self.dtype, "the jitted function")
