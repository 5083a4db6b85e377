"""Layers. A model is an object that holds them: nn.state walks its attributes, and there is no base class.

>>> class Net:
...     def __init__(self):
...         self.first, self.second = nn.Linear(2, 3), nn.Linear(3, 1)
...     def __call__(self, x):
...         return self.second(self.first(x).relu())
>>> Net()(Tensor.ones(4, 2)).shape
(4, 1)
>>> list(nn.state.get_state_dict(Net()))
['first.weight', 'first.bias', 'second.weight', 'second.bias']
"""
from doorbell._doorbell import (BatchNorm, Conv1d, Conv2d, ConvTranspose1d, ConvTranspose2d, Dropout, Embedding,
                                GroupNorm, InstanceNorm, LayerNorm, LayerNorm2d, Linear, LSTMCell, RMSNorm)
from doorbell.nn import datasets, optim, state

BatchNorm2d = BatchNorm3d = BatchNorm

__all__ = ["BatchNorm", "BatchNorm2d", "BatchNorm3d", "Conv1d", "Conv2d", "ConvTranspose1d", "ConvTranspose2d",
           "Dropout", "Embedding", "GroupNorm", "InstanceNorm", "LSTMCell", "LayerNorm", "LayerNorm2d", "Linear",
           "RMSNorm", "datasets", "optim", "state"]
