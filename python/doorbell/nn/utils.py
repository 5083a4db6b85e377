"""Gradients kept within bounds, between backward() and an optimizer's step.

>>> w = Tensor([30.0, 40.0], requires_grad=True)
>>> (w * w / 2).sum().backward()
>>> nn.utils.clip_grad_norm_([w], max_norm=5.0)
tensor(50.)
>>> w.grad
tensor([3., 4.])
"""
from doorbell._doorbell import clip_grad_norm_, clip_grad_value_

__all__ = ["clip_grad_norm_", "clip_grad_value_"]
