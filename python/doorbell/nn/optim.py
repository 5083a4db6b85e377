"""Optimizers and schedules of learning rates, with PyTorch's names, arguments and defaults.

>>> w = Tensor([1.0, 2.0], requires_grad=True)
>>> optimizer = nn.optim.Adam([w], lr=0.1)
>>> w.sum().backward()
>>> optimizer.step()
>>> w
tensor([0.9000, 1.9000])
"""
from __future__ import annotations

from typing import Any

from doorbell._doorbell import (LAMB, LARS, SGD, Adam, AdamW, CosineAnnealingLR, LRScheduler, MultiStepLR, Muon,
                                OneCycleLR, Optimizer, OptimizerGroup, ParamGroup, ReduceLROnPlateau)

__all__ = ["Adam", "AdamW", "CosineAnnealingLR", "LAMB", "LARS", "LRScheduler", "MultiStepLR", "Muon", "OneCycleLR",
           "Optimizer", "OptimizerGroup", "ParamGroup", "ReduceLROnPlateau", "SGD"]


def _rebuild(cls: Any, groups: list[dict[str, Any]], state: dict[str, Any], attributes: dict[str, Any]) -> Any:
    """Restores an optimizer from its __reduce__, for pickle and copy."""
    base = next(each for each in cls.__mro__ if each.__module__ == Optimizer.__module__)
    optimizer = cls.__new__(cls)
    base.__init__(optimizer, groups)
    optimizer.load_state_dict(state)
    if attributes:
        vars(optimizer).update(attributes)
    return optimizer
