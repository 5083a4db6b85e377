#!/usr/bin/env python3
"""language_model.cc with PyTorch, and the weights from which both start.

    language_model_torch.py --write-weights FILE      initial weights as safetensors; needs only Python
    language_model_torch.py --write-losses FILE       trains from them, and writes the loss of every step as JSON
"""
import argparse
import json
import os
import random
import struct

LAYERS, HEADS, WIDTH, CONTEXT, BATCH = 2, 4, 64, 32, 8
TEXT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "data", "sonnets.txt")


def initial_weights(vocabulary):
    """[(name, shape, numbers)]: normal with a deviation of 0.02 for matrices, ones and zeros for norms and biases."""
    generator = random.Random(1)
    weights = []

    def add(name, shape, fill=None):
        count = shape[0] * (shape[1] if len(shape) == 2 else 1)
        weights.append((name, shape, [generator.gauss(0, 0.02) if fill is None else fill for _ in range(count)]))

    def add_layer(name, first, second):
        add(name + ".weight", (first, second))
        add(name + ".bias", (first,), 0.0)

    def add_norm(name):
        add(name + ".weight", (WIDTH,), 1.0)
        add(name + ".bias", (WIDTH,), 0.0)

    add("wte.weight", (vocabulary, WIDTH))
    add("wpe.weight", (CONTEXT, WIDTH))
    for i in range(LAYERS):
        add_norm(f"h.{i}.ln_1")
        add_layer(f"h.{i}.attn.c_attn", 3 * WIDTH, WIDTH)
        add_layer(f"h.{i}.attn.c_proj", WIDTH, WIDTH)
        add_norm(f"h.{i}.ln_2")
        add_layer(f"h.{i}.mlp.c_fc", 4 * WIDTH, WIDTH)
        add_layer(f"h.{i}.mlp.c_proj", WIDTH, 4 * WIDTH)
    add_norm("ln_f")
    add("lm_head.weight", (vocabulary, WIDTH))
    return weights


def write_weights(path, weights):
    header, data = {}, b""
    for name, shape, numbers in weights:
        begin = len(data)
        data += struct.pack(f"<{len(numbers)}f", *numbers)
        header[name] = {"dtype": "F32", "shape": shape, "data_offsets": [begin, len(data)]}
    text = json.dumps(header).encode()
    text += b" " * (-len(text) % 8)
    with open(path, "wb") as file:
        file.write(struct.pack("<Q", len(text)) + text + data)


def losses(numbers, weights, steps):
    import torch
    import torch.nn.functional as F

    w = {name: torch.tensor(values).reshape(shape).requires_grad_() for name, shape, values in weights}

    def layer(x, name):
        return F.linear(x, w[name + ".weight"], w[name + ".bias"])

    def norm(x, name):
        return F.layer_norm(x, (WIDTH,), w[name + ".weight"], w[name + ".bias"])

    def model(batch):
        x = w["wte.weight"][batch] + w["wpe.weight"]
        for i in range(LAYERS):
            q, k, v = layer(norm(x, f"h.{i}.ln_1"), f"h.{i}.attn.c_attn").reshape(
                BATCH, CONTEXT, 3, HEADS, WIDTH // HEADS).permute(2, 0, 3, 1, 4)
            seen = F.scaled_dot_product_attention(q, k, v, is_causal=True)
            x = x + layer(seen.transpose(1, 2).reshape(BATCH, CONTEXT, WIDTH), f"h.{i}.attn.c_proj")
            wide = F.gelu(layer(norm(x, f"h.{i}.ln_2"), f"h.{i}.mlp.c_fc"), approximate="tanh")
            x = x + layer(wide, f"h.{i}.mlp.c_proj")
        return norm(x, "ln_f") @ w["lm_head.weight"].T

    optimizer = torch.optim.AdamW(w.values(), 1e-3, weight_decay=0.01)
    state, result = 1, []
    for _ in range(steps):
        starts = []
        for _ in range(BATCH):
            state = (state * 1664525 + 1013904223) % 2**32
            starts.append((state >> 8) % (len(numbers) - CONTEXT - 1))
        inputs = torch.tensor([numbers[s:s + CONTEXT] for s in starts])
        labels = torch.tensor([numbers[s + 1:s + 1 + CONTEXT] for s in starts])
        optimizer.zero_grad()
        loss = F.cross_entropy(model(inputs).flatten(0, 1), labels.flatten())
        loss.backward()
        optimizer.step()
        result.append(round(loss.item(), 6))
    return result


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--write-weights", metavar="FILE")
    parser.add_argument("--write-losses", metavar="FILE")
    parser.add_argument("--text", default=TEXT)
    parser.add_argument("--steps", type=int, default=100)
    arguments = parser.parse_args()
    with open(arguments.text, "rb") as file:
        text = file.read()
    characters = sorted(set(text))
    weights = initial_weights(len(characters))
    if arguments.write_weights:
        write_weights(arguments.write_weights, weights)
    if arguments.write_losses:
        numbers = [characters.index(c) for c in text]
        with open(arguments.write_losses, "w", encoding="utf-8") as file:
            json.dump(losses(numbers, weights, arguments.steps), file)
            file.write("\n")


main()
