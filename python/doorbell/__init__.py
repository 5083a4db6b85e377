"""Doorbell: tensors on bare GPUs.

>>> from doorbell import Tensor
>>> (Tensor([1.0, 2.0, 3.0]) * 2).sum().item()
12.0
"""
from doorbell import dtypes, errors
from doorbell._doorbell import (Context, DType, Size, Tensor, Variable, default_device, device_names, finfo,
                                iinfo, is_grad_enabled, is_training, open_device, promote_types, synchronize)
from doorbell.errors import Error

__version__ = "0.1.0"
