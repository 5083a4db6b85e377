"""Runs the language model from the weights that language_model_torch.py writes, and compares its losses with
language_model_losses.json, which that program made with PyTorch (--write-losses).
Usage: language_model_test.py PROGRAM SOURCE_ROOT
"""
import json
import os
import re
import subprocess
import sys
import tempfile

# The largest difference over 100 steps. Both compute in f32, in different orders.
TOLERANCE = 1e-4


def main():
    program, root = sys.argv[1:]
    with open(os.path.join(root, "tests/examples/language_model_losses.json"), encoding="utf-8") as file:
        expected = json.load(file)
    with tempfile.TemporaryDirectory() as folder:
        weights = os.path.join(folder, "weights.safetensors")
        subprocess.run([sys.executable, os.path.join(root, "examples/language_model_torch.py"), "--write-weights",
                        weights], check=True)
        done = subprocess.run([program, os.path.join(root, "examples/data/sonnets.txt"), "--weights", weights,
                               "--steps", str(len(expected))], check=True, text=True, capture_output=True)
    losses = [float(loss) for loss in re.findall(r"^step \d+: loss (\S+)$", done.stdout, re.MULTILINE)]
    if len(losses) != len(expected):
        sys.exit(f"{len(losses)} losses, expected {len(expected)}")
    differences = [abs(a - b) for a, b in zip(losses, expected)]
    worst = max(range(len(losses)), key=differences.__getitem__)
    print(f"first {losses[0]}, last {losses[-1]}; PyTorch: {expected[0]}, {expected[-1]}; "
          f"largest difference {differences[worst]:.2g} at step {worst}")
    if not differences[worst] <= TOLERANCE:
        sys.exit(f"step {worst}: loss {losses[worst]}, PyTorch has {expected[worst]}")
    if not losses[-1] < losses[0] - 1:
        sys.exit(f"loss fell from {losses[0]} to {losses[-1]} only")


main()
