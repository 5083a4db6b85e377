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
from doorbell._doorbell import (BatchNorm, Conv1d, Conv2d, ConvTranspose1d, ConvTranspose2d, Dropout, Embedding, GRU,
                               GRUCell, GroupNorm, InstanceNorm, LSTM, LSTMCell, LayerNorm, LayerNorm2d, Linear,
                               MultiheadAttention, RMSNorm, RNN, RNNCell)
from doorbell.nn import datasets, optim, parallel, state, utils
from doorbell.nn.losses import (BCELoss, BCEWithLogitsLoss, CrossEntropyLoss, HuberLoss, KLDivLoss, L1Loss, MSELoss,
                                NLLLoss, SmoothL1Loss)
from doorbell.nn.modules import (AdaptiveAvgPool2d, AvgPool1d, AvgPool2d, AvgPool3d, CELU, ELU, Flatten, GELU,
                                 Hardsigmoid, Hardswish, Hardtanh, Identity, LeakyReLU, LogSigmoid, LogSoftmax,
                                 MaxPool1d, MaxPool2d, MaxPool3d, Mish, ReLU, ReLU6, SELU, Sequential, SiLU, Sigmoid,
                                 Softmax, Softplus, Softsign, Tanh, Unflatten)

BatchNorm1d = BatchNorm2d = BatchNorm3d = BatchNorm
InstanceNorm1d = InstanceNorm2d = InstanceNorm

__all__ = ["AdaptiveAvgPool2d", "AvgPool1d", "AvgPool2d", "AvgPool3d", "BCELoss", "BCEWithLogitsLoss", "BatchNorm",
           "BatchNorm1d", "BatchNorm2d", "BatchNorm3d", "CELU", "Conv1d", "Conv2d", "ConvTranspose1d",
           "ConvTranspose2d", "CrossEntropyLoss", "Dropout", "ELU", "Embedding", "Flatten", "GELU", "GRU", "GRUCell",
           "GroupNorm", "Hardsigmoid", "Hardswish", "Hardtanh", "HuberLoss", "Identity", "InstanceNorm",
           "InstanceNorm1d", "InstanceNorm2d", "KLDivLoss", "L1Loss", "LSTM", "LSTMCell", "LayerNorm", "LayerNorm2d",
           "LeakyReLU", "Linear", "LogSigmoid", "LogSoftmax", "MSELoss", "MaxPool1d", "MaxPool2d", "MaxPool3d",
           "Mish", "MultiheadAttention", "NLLLoss", "RMSNorm", "RNN", "RNNCell", "ReLU", "ReLU6", "SELU",
           "Sequential", "SiLU", "Sigmoid", "SmoothL1Loss", "Softmax", "Softplus", "Softsign", "Tanh", "Unflatten",
           "datasets", "optim", "parallel", "state", "utils"]
