#!/usr/bin/env python3
"""Writes values.json: what PyTorch computes for the cases that the tests of tensor/ look up by name.

Inputs are noise(shape, seed), the same numbers as Array::noise of tests/tensor/reference.h, so that only results are
stored. Usage: make_values.py [OUT], with PyTorch 2.9 or later (torch.optim.Muon).
"""
import json
import math
import os
import sys

import torch
import torch.nn.functional as F

torch.set_num_threads(1)
VALUES = {}


def noise(shape, seed):
    count = math.prod(shape)
    state = (seed * 2654435761 + 1) % 2**32
    values = []
    for _ in range(count):
        state = (state * 1664525 + 1013904223) % 2**32
        values.append(((state >> 12) / (1 << 20) - 0.5) * 2)
    return torch.tensor(values, dtype=torch.float64).reshape(shape)


def leaf(shape, seed):
    return noise(shape, seed).requires_grad_()


def put(name, tensor):
    assert name not in VALUES, name
    tensor = tensor.detach().to(torch.float64)
    values = [float(f"{v:.9g}") if math.isfinite(v) else str(v) for v in tensor.flatten().tolist()]
    VALUES[name] = {"shape": list(tensor.shape), "values": values}


def put_with_gradients(name, result, leaves):
    """The result, and the gradients of its sum weighted with noise of seed 99."""
    put(name, result)
    gradients = torch.autograd.grad((result * noise(list(result.shape), 99)).sum(), leaves)
    for i, gradient in enumerate(gradients):
        put(f"{name}/gradient{i}", gradient)


def convolutions():
    for name, x, w, b, options in (
            ("plain", (2, 4, 5, 6), (6, 4, 3, 2), 6, {}),
            ("all", (2, 4, 7, 6), (6, 2, 3, 2), 6, dict(stride=(2, 1), padding=(1, 2), dilation=(2, 1), groups=2)),
            ("one_axis", (1, 2, 9), (3, 2, 4), 3, dict(stride=2, padding=3)),
            ("three_axes", (1, 2, 3, 4, 3), (2, 1, 2, 2, 2), 2, dict(padding=1, groups=2)),
            ("same", (1, 2, 5, 6), (3, 2, 2, 3), 3, dict(padding="same", dilation=(3, 2)))):
        x, w, b = leaf(x, 1), leaf(w, 2), leaf((b,), 3)
        function = {3: F.conv1d, 4: F.conv2d, 5: F.conv3d}[x.ndim]
        put_with_gradients(f"conv/{name}", function(x, w, b, **options), [x, w, b])
    for name, x, w, b, options in (
            ("plain", (2, 4, 3, 2), (4, 3, 2, 3), 3, {}),
            ("all", (1, 4, 3, 4), (4, 3, 3, 2), 6,
             dict(stride=(2, 3), padding=(1, 2), output_padding=(1, 2), groups=2, dilation=(2, 1))),
            ("one_axis", (1, 2, 4), (2, 3, 3), 3, dict(stride=2, padding=1, output_padding=1))):
        x, w, b = leaf(x, 1), leaf(w, 2), leaf((b,), 3)
        function = {3: F.conv_transpose1d, 4: F.conv_transpose2d}[x.ndim]
        put_with_gradients(f"conv_transpose/{name}", function(x, w, b, **options), [x, w, b])


def pooling():
    for name, options in (("plain", {}), ("padded", dict(stride=(2, 1), padding=(1, 1))),
                          ("ceil", dict(stride=2, padding=1, ceil_mode=True)),
                          ("dilated", dict(stride=1, dilation=(2, 1), ceil_mode=True))):
        x = leaf((2, 2, 7, 8), 4)
        values, indices = F.max_pool2d(x, (3, 2), return_indices=True, **options)
        put_with_gradients(f"max_pool/{name}", values, [x])
        put(f"max_pool/{name}/indices", indices)
    for name, options in (("plain", {}), ("padded", dict(stride=(2, 1), padding=(1, 1))),
                          ("not_counted", dict(stride=2, padding=1, count_include_pad=False)),
                          ("ceil", dict(stride=2, padding=1, ceil_mode=True)),
                          ("ceil_not_counted", dict(stride=2, padding=1, ceil_mode=True, count_include_pad=False)),
                          ("divisor", dict(stride=2, padding=1, divisor_override=5))):
        x = leaf((2, 2, 7, 8), 4)
        put_with_gradients(f"avg_pool/{name}", F.avg_pool2d(x, (3, 2), **options), [x])
    x = leaf((1, 2, 6, 4), 5)
    values, indices = F.max_pool2d(x, 2, return_indices=True)
    put_with_gradients("max_unpool/plain", F.max_unpool2d(values, indices, 2), [x])
    values, indices = F.max_pool2d(noise((1, 2, 6, 5), 5), 2, return_indices=True)
    put("max_unpool/sized", F.max_unpool2d(values, indices, 2, output_size=(6, 5)))


def resampling():
    for to in ((3, 4), (8, 11), (5, 7), (1, 1)):
        for mode in ("nearest", "nearest-exact", "area", "bilinear", "bicubic"):
            for corners in ((False, True) if mode.startswith("bi") else (None,)):
                if to == ((5, 7) if corners else (1, 1)):
                    continue
                x = leaf((1, 2, 5, 7), 6)
                result = F.interpolate(x, size=to, mode=mode, align_corners=corners)
                put_with_gradients(f"interpolate/{mode}{'/corners' if corners else ''}/{to[0]}x{to[1]}", result, [x])
    put("interpolate/trilinear", F.interpolate(noise((1, 1, 2, 3, 2), 7), size=(3, 5, 4), mode="trilinear"))
    put("interpolate/linear", F.interpolate(noise((1, 2, 4), 7), size=6, mode="linear", align_corners=True))
    for mode in ("reflect", "replicate", "circular"):
        x = leaf((1, 2, 4, 3), 8)
        put_with_gradients(f"pad/{mode}", F.pad(x, (2, 1, 3, 2), mode=mode), [x])


def resampling_by_factors():
    for factors in ((1.7, 0.55), (0.4, 2.0), (1.05, 3.3)):
        for mode in ("nearest", "nearest-exact", "area", "bilinear", "bicubic"):
            for corners in ((False, True) if mode.startswith("bi") else (None,)):
                for again in (False, True):
                    x = leaf((1, 2, 5, 7), 6)
                    result = F.interpolate(x, scale_factor=factors, mode=mode, align_corners=corners,
                                           recompute_scale_factor=again)
                    name = f"{mode}{'/corners' if corners else ''}{'/again' if again else ''}/{factors[0]}"
                    put_with_gradients(f"interpolate_by/{name}", result, [x])


def attention():
    shape = (2, 4, 3, 5)
    mask = torch.tensor([[True, False, True, True], [False, False, False, False], [True, True, True, False]])
    for name, options in (("plain", {}), ("causal", dict(is_causal=True)), ("scale", dict(scale=0.3)),
                          ("bools", dict(attn_mask=mask)), ("numbers", dict(attn_mask=noise((3, 4), 20)))):
        q, k, v = leaf(shape, 10), leaf((2, 4, 4, 5), 11), leaf((2, 4, 4, 6), 12)
        put_with_gradients(f"attention/{name}", F.scaled_dot_product_attention(q, k, v, **options), [q, k, v])
    q, k, v = leaf(shape, 10), leaf((2, 2, 4, 5), 11), leaf((2, 2, 4, 6), 12)
    put_with_gradients("attention/grouped", F.scaled_dot_product_attention(q, k, v, enable_gqa=True), [q, k, v])


def losses():
    labels = torch.tensor([[1, 4, -100], [0, 2, 4], [3, -100, 1], [4, 4, 0]])
    weight = noise((5,), 13).abs() + 0.1
    for reduction in ("mean", "sum", "none"):
        for smoothing in (0.0, 0.2):
            for weighted in (False, True):
                for ignored in (-100, 4) if reduction == "mean" else (-100,):
                    x = leaf((4, 5, 3), 14)
                    kept = labels if ignored == -100 else labels.clamp(min=0)
                    result = F.cross_entropy(x, kept, weight=weight if weighted else None, ignore_index=ignored,
                                             label_smoothing=smoothing, reduction=reduction)
                    name = f"cross_entropy/{reduction}/{smoothing}/{'weighted' if weighted else 'plain'}/{ignored}"
                    put_with_gradients(name, result, [x])
        x = leaf((4, 5), 15)
        shares = noise((4, 5), 16).softmax(1)
        put_with_gradients(f"cross_entropy/shares/{reduction}",
                           F.cross_entropy(x, shares, weight=weight, label_smoothing=0.1, reduction=reduction), [x])
        x = leaf((4, 5, 3), 14)
        put_with_gradients(f"nll/{reduction}", F.nll_loss(x, labels, weight=weight, reduction=reduction), [x])
        y, w, p = noise((4, 5), 17).abs(), noise((5,), 18).abs(), noise((5,), 19).abs()
        x = leaf((4, 5), 15)
        put_with_gradients(f"bce_logits/{reduction}", F.binary_cross_entropy_with_logits(
            5 * x, y, weight=w, pos_weight=p, reduction=reduction), [x])
        x = leaf((4, 5), 15)
        put_with_gradients(f"bce/{reduction}",
                           F.binary_cross_entropy(x.abs() * 0.9 + 0.05, y, weight=w, reduction=reduction), [x])
    put("cross_entropy/one_axis", F.cross_entropy(noise((5,), 15), torch.tensor(3)))
    put("bce/ends", F.binary_cross_entropy(torch.tensor([0.0, 1.0, 0.0, 1.0]), torch.tensor([0.0, 1.0, 1.0, 0.25]),
                                           reduction="none"))


def einsums():
    for formula, shapes in (("ij,jk->ik", ((2, 3), (3, 4))), ("ij,jk", ((2, 3), (3, 4))), ("ba", ((2, 3),)),
                            ("bA", ((2, 3),)), ("ii", ((3, 3),)), ("iijj->ij", ((2, 2, 3, 3),)),
                            ("iji->j", ((2, 3, 2),)),
                            ("i,j", ((2,), (3,))), ("i,i->", ((3,), (3,))), ("ij->", ((2, 3),)),
                            ("...ij,...jk->...ik", ((2, 1, 2, 3), (4, 3, 2))), ("...ij,...jk", ((5, 2, 3), (3, 2))),
                            ("i...,i", ((2, 3, 4), (2,))), ("...i->...", ((2, 3, 4),)), ("...ii->...i", ((2, 3, 3),)),
                            ("ab,bc,cd,de->ae", ((2, 3), (3, 4), (4, 2), (2, 3))), ("a,b,c->cab", ((2,), (3,), (4,))),
                            ("ij , jk -> k i", ((2, 3), (3, 4))), ("bhqd,bhkd->bhqk", ((1, 2, 3, 4), (1, 2, 5, 4))),
                            ("ij,j->i", ((3, 1), (4,))), ("abc,acd,ad->bd", ((2, 3, 4), (2, 4, 3), (2, 3)))):
        leaves = [leaf(shape, 30 + i) for i, shape in enumerate(shapes)]
        put_with_gradients(f"einsum/{formula}", torch.einsum(formula, *leaves), leaves)


def decompositions():
    for name, shape in (("square", (4, 4)), ("tall", (2, 5, 3)), ("wide", (3, 5)), ("column", (3, 1)), ("row", (1, 3))):
        x = noise(shape, 40)
        for mode in ("reduced", "complete"):
            q, r = torch.linalg.qr(x, mode)
            put(f"qr/{name}/{mode}/Q", q)
            put(f"qr/{name}/{mode}/R", r)
        put(f"svd/{name}/S", torch.linalg.svdvals(x))
    x = leaf((4, 3), 41)
    put_with_gradients("qr/gradient/R", torch.linalg.qr(x)[1], [x])


def optimizers():
    """Five steps of 0.5 |w - 1|^2 + sum(w^3) / 6 from noise, a matrix and a vector, rates 0.1 then 0.05."""
    from torch.optim import _muon

    def run(name, make, shapes=((3, 4), (4,))):
        parameters = [leaf(shape, 50 + i) for i, shape in enumerate(shapes)]
        optimizer = make(parameters)
        for step in range(5):
            if step == 3:
                optimizer.param_groups[0]["lr"] /= 2
            optimizer.zero_grad()
            sum((0.5 * (p - 1).square() + p**3 / 6).sum() for p in parameters).backward()
            optimizer.step()
        for i, p in enumerate(parameters):
            put(f"optim/{name}/{i}", p)

    run("sgd", lambda p: torch.optim.SGD(p, 0.1, weight_decay=0.2))
    run("momentum", lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, weight_decay=0.2))
    run("nesterov", lambda p: torch.optim.SGD(p, 0.1, momentum=0.9, nesterov=True))
    run("adam", lambda p: torch.optim.Adam(p, 0.1, betas=(0.8, 0.95), eps=1e-6, weight_decay=0.3))
    run("adam_defaults", lambda p: torch.optim.Adam(p, 0.1))
    run("adamw", lambda p: torch.optim.AdamW(p, 0.1, betas=(0.8, 0.95), weight_decay=0.3))
    run("adamw_defaults", lambda p: torch.optim.AdamW(p, 0.1))

    class LAMB(torch.optim.Optimizer):
        """arxiv.org/abs/1904.00962, algorithm 2 with phi(z) = z and the bias corrected."""

        def __init__(self, params, lr, weight_decay):
            super().__init__(params, dict(lr=lr, wd=weight_decay))

        @torch.no_grad()
        def step(self):
            for group in self.param_groups:
                for p in group["params"]:
                    s = self.state[p]
                    s["t"] = s.get("t", 0) + 1
                    s["m"] = 0.9 * s.get("m", 0) + 0.1 * p.grad
                    s["v"] = 0.999 * s.get("v", 0) + 0.001 * p.grad**2
                    u = s["m"] / (1 - 0.9**s["t"]) / ((s["v"] / (1 - 0.999**s["t"])).sqrt() + 1e-6) + group["wd"] * p
                    p -= group["lr"] * p.norm() / u.norm() * u

    class LARS(torch.optim.Optimizer):
        """arxiv.org/abs/1708.03888, algorithm 1 with a trust coefficient of 0.001."""

        def __init__(self, params, lr, momentum, weight_decay, nesterov=False, classic=True):
            super().__init__(params, dict(lr=lr))
            self.momentum, self.wd, self.nesterov, self.classic = momentum, weight_decay, nesterov, classic

        @torch.no_grad()
        def step(self):
            for group in self.param_groups:
                for p in group["params"]:
                    rate = 0.001 * p.norm() / (p.grad.norm() + self.wd * p.norm()) * group["lr"]
                    g = p.grad + self.wd * p
                    s = self.state[p]
                    s["v"] = self.momentum * s.get("v", 0) + (rate * g if self.classic else g)
                    u = (rate * g if self.classic else g) + self.momentum * s["v"] if self.nesterov else s["v"]
                    p -= u if self.classic else rate * u

    run("lamb", lambda p: LAMB(p, 0.1, 0.05))
    run("lars", lambda p: LARS(p, 100.0, 0.9, 1e-4))
    run("lars_nesterov", lambda p: LARS(p, 100.0, 0.8, 0.01, nesterov=True, classic=False))

    # PyTorch iterates in bf16, in place; here the same in f64.
    def newton_schulz(grad, coefficients, steps, eps):
        x = grad.T if grad.size(0) > grad.size(1) else grad
        x = x / x.norm().clamp(min=eps)
        a, b, c = coefficients
        for _ in range(steps):
            gram = x @ x.T
            x = a * x + (b * gram + c * gram @ gram) @ x
        return x.T if grad.size(0) > grad.size(1) else x

    _muon._zeropower_via_newtonschulz = newton_schulz
    run("muon", lambda p: torch.optim.Muon(p, 0.1), ((3, 4), (5, 2)))
    run("muon_plain", lambda p: torch.optim.Muon(p, 0.1, weight_decay=0.0, momentum=0.5, nesterov=False, ns_steps=3),
        ((3, 4), (5, 2)))
    put("newton_schulz/wide", newton_schulz(noise((3, 5), 60), (3.4445, -4.775, 2.0315), 5, 1e-7))
    put("newton_schulz/tall", newton_schulz(noise((4, 2), 61), (2.0, -1.5, 0.5), 8, 1e-7))


def schedules():
    from torch.optim import lr_scheduler as schedule

    def run(name, make, steps=20, metrics=None):
        optimizer = torch.optim.SGD([leaf((1,), 1)], 0.5)
        schedule_ = make(optimizer)
        rates = [optimizer.param_groups[0]["lr"]]
        for step in range(steps):
            optimizer.step()
            schedule_.step(*([metrics[step]] if metrics else []))
            rates.append(optimizer.param_groups[0]["lr"])
        put(f"schedule/{name}", torch.tensor(rates, dtype=torch.float64))

    run("multi_step", lambda o: schedule.MultiStepLR(o, [3, 7, 7, 15], gamma=0.5))
    run("cosine", lambda o: schedule.CosineAnnealingLR(o, 8, eta_min=0.1))
    run("one_cycle", lambda o: schedule.OneCycleLR(o, 2.0, total_steps=20, cycle_momentum=False))
    run("one_cycle_linear", lambda o: schedule.OneCycleLR(o, 2.0, total_steps=20, pct_start=0.4, div_factor=5,
                                                          anneal_strategy="linear", final_div_factor=50,
                                                          cycle_momentum=False))
    run("one_cycle_three", lambda o: schedule.OneCycleLR(o, 2.0, total_steps=20, three_phase=True,
                                                         cycle_momentum=False))
    metrics = [5, 4, 4.1, 4.2, 4, 4, 3, 3.5, 3.5, 3.5, 3.5, 3.5, 3.5, 3.5, 3.5, 3.5, 3.5, 3.5, 3.5, 3.5]
    run("plateau", lambda o: schedule.ReduceLROnPlateau(o, patience=2, factor=0.5), metrics=metrics)
    run("plateau_all", lambda o: schedule.ReduceLROnPlateau(o, mode="max", patience=1, factor=0.3, threshold=0.5,
                                                            threshold_mode="abs", cooldown=2, min_lr=0.02),
        metrics=metrics)


def layers():
    x = leaf((2, 6, 4, 3), 70)
    for name, module in (("layer_norm", torch.nn.LayerNorm((4, 3))),
                         ("layer_norm_no_bias", torch.nn.LayerNorm(3, bias=False)),
                         ("group_norm", torch.nn.GroupNorm(3, 6)),
                         ("instance_norm", torch.nn.InstanceNorm2d(6, affine=True)),
                         ("rms_norm", torch.nn.RMSNorm((4, 3))), ("batch_norm", torch.nn.BatchNorm2d(6))):
        module = module.double()
        parameters = dict(module.named_parameters())
        with torch.no_grad():
            for i, p in enumerate(parameters.values()):
                p.copy_(noise(tuple(p.shape), 71 + i))
        put_with_gradients(f"layer/{name}", module(x), [x, *parameters.values()])
        if name == "batch_norm":
            put("layer/batch_norm/running_mean", module.running_mean)
            put("layer/batch_norm/running_var", module.running_var)
            module.eval()
            put("layer/batch_norm/eval", module(x))
    put("layer/instance_norm_plain", torch.nn.InstanceNorm2d(6).double()(x))
    put("layer/layer_norm_2d", F.layer_norm(x.permute(0, 2, 3, 1), (6,)).permute(0, 3, 1, 2))
    cell = torch.nn.LSTMCell(3, 2).double()
    parameters = [cell.weight_ih, cell.weight_hh, cell.bias_ih, cell.bias_hh]
    with torch.no_grad():
        for i, p in enumerate(parameters):
            p.copy_(noise(tuple(p.shape), 80 + i))
    h, c = cell(noise((4, 3), 84), (noise((4, 2), 85), noise((4, 2), 86)))
    put_with_gradients("layer/lstm/hidden", h, parameters)
    put("layer/lstm/cell", c)


def networks():
    """Recurrent networks and attention, in double; parameters are noise of seeds 101 and on."""

    def filled(module):
        module = module.double()
        with torch.no_grad():
            for i, p in enumerate(module.parameters()):
                p.copy_(noise(tuple(p.shape), 101 + i))
        return module

    x = leaf((3, 2, 4), 100)
    for name, kind, options in (
            ("lstm_plain", torch.nn.LSTM, {}), ("lstm_deep", torch.nn.LSTM, dict(num_layers=2, bidirectional=True)),
            ("lstm_projected", torch.nn.LSTM, dict(num_layers=2, bidirectional=True, proj_size=2)),
            ("lstm_batch_first", torch.nn.LSTM, dict(batch_first=True, bias=False)),
            ("gru_plain", torch.nn.GRU, {}), ("gru_deep", torch.nn.GRU, dict(num_layers=2, bidirectional=True)),
            ("rnn_plain", torch.nn.RNN, {}), ("rnn_relu", torch.nn.RNN, dict(num_layers=2, nonlinearity="relu"))):
        module = filled(kind(4, 3, **options))
        output, state = module(x)
        hidden, cell = state if kind is torch.nn.LSTM else (state, None)
        put_with_gradients(f"network/{name}", output, [x, *module.parameters()])
        put(f"network/{name}/hidden", hidden)
        if cell is not None:
            put(f"network/{name}/cell", cell)
    module = filled(torch.nn.LSTM(4, 3))
    h, c = leaf((1, 2, 3), 130), leaf((1, 2, 3), 131)
    put_with_gradients("network/lstm_state", module(x, (h, c))[0], [h, c])
    for name, kind in (("gru_cell", torch.nn.GRUCell), ("rnn_cell", torch.nn.RNNCell)):
        module = filled(kind(4, 3))
        put_with_gradients(f"network/{name}", module(x[0], h[0]), [h, *module.parameters()])
    q, k, v = leaf((3, 2, 4), 140), leaf((5, 2, 4), 141), leaf((5, 2, 4), 142)
    padding = torch.tensor([[False, False, True, False, True], [False, True, False, False, False]])
    never = torch.tensor([[False, True, False, False, True], [False, False, False, True, False],
                          [False, False, False, False, False]])
    for name, call in (("plain", {}), ("padding", dict(key_padding_mask=padding)), ("bools", dict(attn_mask=never)),
                       ("numbers", dict(attn_mask=noise((3, 5), 143), average_attn_weights=False))):
        module = filled(torch.nn.MultiheadAttention(4, 2))
        output, weights = module(q, k, v, **call)
        put_with_gradients(f"network/attention/{name}", output, [q, k, v, *module.parameters()])
        put(f"network/attention/{name}/weights", weights)
    bias, zeros = dict(add_bias_kv=True), dict(add_zero_attn=True)
    for name, options, call in (
            ("bias_kv", bias, {}), ("zero_attn", zeros, dict(attn_mask=never)),
            ("both", bias | zeros, dict(key_padding_mask=padding)),
            ("both_numbers", bias | zeros, dict(attn_mask=noise((3, 5), 143), average_attn_weights=False))):
        module = filled(torch.nn.MultiheadAttention(4, 2, **options))
        output, weights = module(q, k, v, **call)
        put_with_gradients(f"network/attention/{name}", output, [q, k, v, *module.parameters()])
        put(f"network/attention/{name}/weights", weights)
    module = filled(torch.nn.MultiheadAttention(4, 2, kdim=3, vdim=2, bias=False, batch_first=True))
    k, v = leaf((3, 6, 3), 144), leaf((3, 6, 2), 145)
    put_with_gradients("network/attention/apart", module(q, k, v)[0], [q, k, v, *module.parameters()])


def clipping():
    for name, norm in (("two", 2.0), ("one", 1.0), ("three", 3.0), ("largest", math.inf)):
        parameters = [leaf((3, 2), 150), leaf((4,), 151)]
        for i, p in enumerate(parameters):
            p.grad = noise(tuple(p.shape), 152 + i)
        put(f"clip/{name}", torch.nn.utils.clip_grad_norm_(parameters, 0.5, norm))
        for i, p in enumerate(parameters):
            put(f"clip/{name}/{i}", p.grad)


def main():
    out = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "values.json")
    for make in (convolutions, pooling, resampling, resampling_by_factors, attention, losses, einsums, decompositions,
                 optimizers, schedules, layers, networks, clipping):
        make()
    with open(out, "w", encoding="utf-8") as file:
        rows = [f"{json.dumps(name)}: {json.dumps(value, separators=(',', ':'))}" for name, value in VALUES.items()]
        file.write("{\n" + ",\n".join(rows) + "\n}\n")


main()
