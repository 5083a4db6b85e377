"""Doorbell: tensors on bare GPUs.

>>> from doorbell import Tensor
>>> (Tensor([1.0, 2.0, 3.0]) * 2).sum().item()
12.0
"""
from math import e, inf, nan, pi

from doorbell import _doorbell, dtypes, errors, signatures
from doorbell._doorbell import (Context, DType, FloatInfo, IntInfo, Jit, Size, Tensor, Variable, default_device,
                                device_names, empty_cache, finfo, get_printoptions, iinfo, is_grad_enabled,
                                is_training, open_device, promote_types, set_printoptions, synchronize)
from doorbell.functions import *  # noqa: F401, F403
from doorbell.dtypes import (bfloat16, bool, double, float, float16, float32, float64, half, int, int8, int16, int32,
                             int64, long, short, uint8, uint16, uint32, uint64)
from doorbell.capture import TinyJit, jit
from doorbell.device import Device
from doorbell.errors import Error
from doorbell.scopes import no_grad, train

from doorbell import nn  # after all that it uses
from doorbell import distributed  # after nn

signatures.describe_classes(_doorbell)

__version__ = "0.1.0"
__all__ = ["Context", "DType", "Device", "Error", "FloatInfo", "IntInfo", "Jit", "Size", "Tensor", "TinyJit",
           "Variable", "default_device", "device_names", "distributed", "dtypes", "empty_cache", "errors", "finfo",
           "from_dlpack", "get_printoptions", "iinfo",
           "is_grad_enabled", "is_training", "jit", "manual_seed", "nn", "no_grad", "open_device", "promote_types",
           "set_printoptions", "synchronize", "tensor", "train"]

newaxis = None  # as NumPy's users write it between brackets
