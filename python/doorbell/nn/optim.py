"""Optimizers and schedules of learning rates, with PyTorch's names, arguments and defaults.

>>> w = Tensor([1.0, 2.0], requires_grad=True)
>>> optimizer = nn.optim.Adam([w], lr=0.1)
>>> w.sum().backward()
>>> optimizer.step()
>>> w
tensor([0.9000, 1.9000])
"""
from doorbell._doorbell import (LAMB, LARS, SGD, Adam, AdamW, CosineAnnealingLR, LRScheduler, MultiStepLR, Muon,
                                OneCycleLR, Optimizer, OptimizerGroup, ReduceLROnPlateau)

__all__ = ["Adam", "AdamW", "CosineAnnealingLR", "LAMB", "LARS", "LRScheduler", "MultiStepLR", "Muon", "OneCycleLR",
           "Optimizer", "OptimizerGroup", "ReduceLROnPlateau", "SGD"]
