"""Named tuples that some methods of Tensor return."""
from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from doorbell import Tensor


class Picked(NamedTuple):
    """Values taken from a tensor, and their indices."""

    values: Tensor
    indices: Tensor


class QR(NamedTuple):
    """x = Q R."""

    Q: Tensor
    R: Tensor


class SVD(NamedTuple):
    """x = U diag(S) Vh."""

    U: Tensor
    S: Tensor
    Vh: Tensor
