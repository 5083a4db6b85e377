#!/usr/bin/env python3
"""Writes the files in data/ that files_test.cc reads, with PyTorch and Python's zipfile and tarfile.
Usage: make_files.py [FOLDER]
"""
import copy
import gzip
import io
import os
import sys
import tarfile
import zipfile

import torch

OUT = sys.argv[1] if len(sys.argv) > 1 else os.path.join(os.path.dirname(os.path.abspath(__file__)), "data")


def path(name):
    return os.path.join(OUT, name)


def state(new):
    w = torch.arange(6.0).reshape(2, 3)
    result = {"w": w, "turned": w.T, "part": w[1:, 1:], "parameter": torch.nn.Parameter(torch.tensor([0.5, -1.0])),
              "half": torch.tensor([1.5], dtype=torch.float16), "brain": torch.tensor([-2.0], dtype=torch.bfloat16),
              "double": torch.tensor([1e-3], dtype=torch.float64), "long": torch.tensor([-5, 2**40]),
              "int": torch.tensor([7], dtype=torch.int32), "short": torch.tensor([-300], dtype=torch.int16),
              "char": torch.tensor([-8], dtype=torch.int8), "byte": torch.tensor([200], dtype=torch.uint8),
              "bool": torch.tensor([True, False]), "scalar": torch.tensor(2.5), "empty": torch.zeros(0, 3),
              "repeated": torch.tensor([4.0]).expand(3), "epoch": 3, "name": "net", "rate": 0.1, "none": None,
              "nested": {"list": [torch.tensor([9.0]), 1, (torch.tensor([10.0]),)]}}
    module = torch.nn.BatchNorm1d(1)
    result["module"] = module.state_dict()
    if new:
        result["u16"] = torch.tensor([65535], dtype=torch.uint16)
        result["f8"] = torch.tensor([-1.5]).to(torch.float8_e4m3fn)
    return result


def trained(make):
    """A checkpoint after 3 steps, and the parameters after 3 more."""
    w = [torch.nn.Parameter(torch.tensor([[0.5, -1.0], [2.0, 0.25]])), torch.nn.Parameter(torch.tensor([1.5, -0.5]))]
    optimizer = make(w)

    def steps(count):
        for _ in range(count):
            optimizer.zero_grad()
            sum((0.5 * (p - 1) ** 2 + p ** 3 / 6).sum() for p in w).backward()
            optimizer.step()
        return [p.detach().clone() for p in w]

    return {"model": steps(3), "optimizer": copy.deepcopy(optimizer.state_dict()), "epoch": 3, "expected": steps(3)}


def main():
    os.makedirs(OUT, exist_ok=True)
    torch.manual_seed(0)
    torch.save(state(True), path("state.pt"))
    torch.save(state(False), path("legacy.pt"), _use_new_zipfile_serialization=False)
    torch.save(torch.ones(2), path("tensor.pt"))
    torch.save(trained(lambda w: torch.optim.AdamW(
        [{"params": w[:1]}, {"params": w[1:], "lr": 0.2, "betas": (0.8, 0.95)}], lr=0.1)), path("adamw.pt"))
    torch.save(trained(lambda w: torch.optim.SGD(w, lr=0.1, momentum=0.9)), path("sgd.pt"),
               _use_new_zipfile_serialization=False)
    torch.save(torch.nn.Linear(1, 1), path("module.pt"))
    with zipfile.ZipFile(path("files.zip"), "w") as archive:
        archive.writestr(zipfile.ZipInfo("stored.txt"), "plain", zipfile.ZIP_STORED)
        archive.writestr(zipfile.ZipInfo("folder/packed.txt"), "again " * 20, zipfile.ZIP_DEFLATED)
    plain = io.BytesIO()
    with tarfile.open(fileobj=plain, mode="w") as archive:
        folder = tarfile.TarInfo("folder")
        folder.type = tarfile.DIRTYPE
        archive.addfile(folder)
        for name, text in (("folder/a.txt", b"first"), ("b.txt", b"")):
            entry = tarfile.TarInfo(name)
            entry.size = len(text)
            archive.addfile(entry, io.BytesIO(text))
    with open(path("files.tar.gz"), "wb") as file:
        file.write(gzip.compress(plain.getvalue(), mtime=0))


main()
