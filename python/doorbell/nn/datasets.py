"""Data sets from files that are there: nothing is fetched."""
from __future__ import annotations

import os

from doorbell._doorbell import Tensor, _load_cifar, _load_mnist, load_idx

__all__ = ["cifar", "load_idx", "mnist"]


def mnist(folder: str | os.PathLike[str], device: str | None = None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(train images, train labels, test images, test labels) of a folder with the four files of MNIST or of
    Fashion-MNIST, plain or packed by gzip: images (n, 1, 28, 28) and labels (n), both uint8.

    Raises FileNotFoundError where one is missing. load_idx reads a single file.
    """
    train, train_labels, test, test_labels = _load_mnist(folder, device)
    return train.unsqueeze(1), train_labels, test.unsqueeze(1), test_labels


def cifar(path: str | os.PathLike[str], device: str | None = None) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """(train images, train labels, test images, test labels) of the binary version of CIFAR-10, as an archive or its
    folder: images (n, 3, 32, 32) and labels (n), both uint8."""
    return _load_cifar(path, device)
