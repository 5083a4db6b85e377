"""Losses as objects, with PyTorch's names and arguments; each is a call of the tensor's method of that name.

>>> nn.MSELoss()(Tensor([1.0, 2.0]), Tensor([1.0, 4.0]))
tensor(2.)
>>> nn.CrossEntropyLoss(label_smoothing=0.1)
CrossEntropyLoss(label_smoothing=0.1)
"""
from __future__ import annotations

from dataclasses import dataclass

from doorbell._doorbell import Tensor
from doorbell.nn.modules import Plain


@dataclass(repr=False, eq=False)
class Loss(Plain):
    """Base of losses: loss(input, target)."""

    reduction: str = "mean"

    def __call__(self, x: Tensor, target: Tensor) -> Tensor:  # type: ignore[override]
        raise NotImplementedError


@dataclass(repr=False, eq=False)
class MSELoss(Loss):
    """Tensor.mse_loss: squares of the differences."""

    def __call__(self, x: Tensor, target: Tensor) -> Tensor:  # type: ignore[override]
        return x.mse_loss(target, reduction=self.reduction)


@dataclass(repr=False, eq=False)
class L1Loss(Loss):
    """Tensor.l1_loss: sizes of the differences."""

    def __call__(self, x: Tensor, target: Tensor) -> Tensor:  # type: ignore[override]
        return x.l1_loss(target, reduction=self.reduction)


@dataclass(repr=False, eq=False)
class SmoothL1Loss(Loss):
    """Tensor.smooth_l1_loss: squares up to beta, lines beyond."""

    beta: float = 1.0

    def __call__(self, x: Tensor, target: Tensor) -> Tensor:  # type: ignore[override]
        return x.smooth_l1_loss(target, beta=self.beta, reduction=self.reduction)


@dataclass(repr=False, eq=False)
class HuberLoss(Loss):
    """Tensor.huber_loss: squares up to delta, lines beyond."""

    delta: float = 1.0

    def __call__(self, x: Tensor, target: Tensor) -> Tensor:  # type: ignore[override]
        return x.huber_loss(target, delta=self.delta, reduction=self.reduction)


@dataclass(repr=False, eq=False)
class KLDivLoss(Loss):
    """Tensor.kl_div of log probabilities."""

    log_target: bool = False

    def __call__(self, x: Tensor, target: Tensor) -> Tensor:  # type: ignore[override]
        return x.kl_div(target, reduction=self.reduction, log_target=self.log_target)


@dataclass(repr=False, eq=False)
class CrossEntropyLoss(Plain):
    """Tensor.cross_entropy of logits and class numbers or probabilities."""

    weight: Tensor | None = None
    ignore_index: int = -100
    reduction: str = "mean"
    label_smoothing: float = 0.0

    def __call__(self, x: Tensor, target: Tensor) -> Tensor:  # type: ignore[override]
        return x.cross_entropy(target, weight=self.weight, reduction=self.reduction,
                               label_smoothing=self.label_smoothing, ignore_index=self.ignore_index)


@dataclass(repr=False, eq=False)
class NLLLoss(Plain):
    """Tensor.nll_loss of log probabilities and class numbers."""

    weight: Tensor | None = None
    ignore_index: int = -100
    reduction: str = "mean"

    def __call__(self, x: Tensor, target: Tensor) -> Tensor:  # type: ignore[override]
        return x.nll_loss(target, weight=self.weight, ignore_index=self.ignore_index, reduction=self.reduction)


@dataclass(repr=False, eq=False)
class BCELoss(Plain):
    """Tensor.binary_crossentropy of probabilities."""

    weight: Tensor | None = None
    reduction: str = "mean"

    def __call__(self, x: Tensor, target: Tensor) -> Tensor:  # type: ignore[override]
        return x.binary_crossentropy(target, weight=self.weight, reduction=self.reduction)


@dataclass(repr=False, eq=False)
class BCEWithLogitsLoss(Plain):
    """Tensor.binary_crossentropy_logits of logits."""

    weight: Tensor | None = None
    reduction: str = "mean"
    pos_weight: Tensor | None = None

    def __call__(self, x: Tensor, target: Tensor) -> Tensor:  # type: ignore[override]
        return x.binary_crossentropy_logits(target, weight=self.weight, pos_weight=self.pos_weight,
                                            reduction=self.reduction)
