"""What pickles of tensors name: functions of Python, because those of the compiled part cannot be pickled."""
from __future__ import annotations

from typing import Any

from doorbell._doorbell import Tensor, _shared_tensor


def tensor(cls: type[Tensor], shared: Any) -> Tensor:
    """A handle of a tensor that other handles in the same pickle share."""
    return _shared_tensor(cls, shared)
