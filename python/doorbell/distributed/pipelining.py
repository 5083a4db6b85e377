"""A model in stages, one on the device of each process, through which a batch goes in microbatches, with the names of
torch.distributed.pipelining:

    stages = [PipelineStage(part, i, 2, devices[i]) for i, part in enumerate(parts)]
    optimizers = [nn.optim.Adam(stage.parameters) for stage in stages]
    schedule = Schedule1F1B(stages, n_microbatches=4, loss_fn=loss_fn)
    output = schedule.step(x, target=y, losses=losses)      # p.grad of each weight of all stages is set
    loss = stages[-1].give(Tensor.stack(*losses).mean())    # in every process

Every process makes all stages and calls the same, and computes what is on its own device: what a stage has, other
processes only name, until give() brings it to all. Microbatches have equal sizes, and the loss is the mean over them:
with a loss_fn that is a mean, the loss and the gradients are those of the whole batch.
Going backward, a stage computes what is between its input and its output again.
"""
from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from doorbell import _doorbell
from doorbell._doorbell import Tensor
from doorbell.distributed import functional
from doorbell.nn import state

__all__ = ["PipelineStage", "Schedule1F1B", "ScheduleGPipe"]

Action = tuple[str, int, int]  # "F" or "B", a stage, a microbatch


class PipelineStage:
    """A part of a model, whose tensors move to a device."""

    def __init__(self, submodule: Callable[[Tensor], Tensor], stage_index: int, num_stages: int, device: str) -> None:
        if not 0 <= stage_index < num_stages:
            raise ValueError(f"stage_index {stage_index} out of range ({num_stages} stages)")
        self.submod, self.stage_index, self.num_stages, self.device = submodule, stage_index, num_stages, device
        kind, _, rank = device.partition("@")
        self.rank = int(rank) if rank else None  # of the process that has the device
        # Where every process has a value, from which the device takes its own.
        self._everyone = list(_doorbell._dist_devices(kind)) if rank else [device]
        for tensor in state.get_state_dict(submodule).values():
            tensor.to_(self._everyone)
            tensor.to_(device)
            tensor.realize()
        self.parameters = state.get_parameters(submodule)

    def take(self, tensor: Tensor) -> Tensor:
        """On the stage's device what every process has: nothing moves between them."""
        return tensor.to(self._everyone).to(self.device)

    def give(self, tensor: Tensor) -> Tensor:
        """In every process what the stage's device has: a loss, or a weight."""
        if self.rank is None:
            return tensor
        # In memory of its own: else two equal values would be one node here, and two in another process.
        is_own = self.rank == _doorbell._dist_rank()
        own = tensor.clone() if is_own else Tensor.empty(*tensor.shape, dtype=tensor.dtype)
        return functional.broadcast(own, self.rank)


def _in_order(wanted: list[list[Action]]) -> list[Action]:
    """What each stage does in its own order, as one order in which nothing comes before what it needs."""
    done: set[Action] = set()
    rest = [list(actions) for actions in wanted]
    last, order = len(wanted) - 1, []

    def is_ready(action: Action) -> bool:
        kind, stage, microbatch = action
        if kind == "F":
            return stage == 0 or ("F", stage - 1, microbatch) in done
        return ("F" if stage == last else "B", min(stage + 1, last), microbatch) in done

    while any(rest):
        # All stages at once: what was done in this round is there in the next one.
        ready = [actions.pop(0) for actions in rest if actions and is_ready(actions[0])]
        if not ready:
            raise AssertionError("stages wait for each other")
        order += ready
        done.update(ready)
    return order


class _Schedule:
    def __init__(self, stages: Sequence[PipelineStage], n_microbatches: int,
                 loss_fn: Callable[[Tensor, Tensor], Tensor]) -> None:
        indices, count = [stage.stage_index for stage in stages], stages[0].num_stages
        if indices != list(range(count)):
            raise ValueError(f"stages {indices}, expected all {count} in order")
        self.stages, self.n_microbatches, self.loss_fn = list(stages), n_microbatches, loss_fn

    def _stage_actions(self, stage: int) -> list[Action]:
        raise NotImplementedError

    def actions(self) -> list[Action]:
        """What is computed, in order: each process does those of its own stage."""
        return _in_order([self._stage_actions(stage) for stage in range(len(self.stages))])

    def step(self, x: Tensor, target: Tensor, losses: list[Tensor] | None = None) -> Tensor:
        """Forward and backward: adds to the gradients of all stages' weights, gives the outputs, and puts the loss of
        each microbatch into the list, both on the last stage's device."""
        count = self.n_microbatches
        if x.shape[0] % count != 0:
            raise ValueError(f"{x.shape[0]} rows cannot be divided into {count} microbatches of equal size")
        run = _Run(self, x.chunk(count), target.chunk(count))
        for action in self.actions():
            run.do(action)
        run.give_gradients()
        if losses is not None:
            losses += run.losses
        return Tensor.cat(*run.outputs[-1])


class ScheduleGPipe(_Schedule):
    """All microbatches forward, then all backward."""

    def _stage_actions(self, stage: int) -> list[Action]:
        every = range(self.n_microbatches)
        return [("F", stage, i) for i in every] + [("B", stage, i) for i in every]


class Schedule1F1B(_Schedule):
    """One forward, one backward, as soon as a stage has filled those behind it: it keeps as many inputs as there are
    stages from it on, not as there are microbatches."""

    def _stage_actions(self, stage: int) -> list[Action]:
        count = self.n_microbatches
        ahead = min(len(self.stages) - stage, count)
        actions: list[Action] = [("F", stage, i) for i in range(ahead)]
        for i in range(count):
            actions.append(("B", stage, i))
            if ahead + i < count:
                actions.append(("F", stage, ahead + i))
        return actions


class _Run:
    """One step: the values between the stages, while they are needed."""

    def __init__(self, schedule: _Schedule, xs: Sequence[Tensor], targets: Sequence[Tensor]) -> None:
        count = len(schedule.stages)
        self.schedule, self.xs, self.targets = schedule, xs, targets
        self.inputs: list[list[Any]] = [[None] * len(xs) for _ in range(count)]
        self.outputs: list[list[Any]] = [[None] * len(xs) for _ in range(count)]
        self.slopes: list[list[Any]] = [[None] * len(xs) for _ in range(count)]  # of the outputs
        self.losses: list[Any] = [None] * len(xs)
        self.gradients: list[list[Tensor]] = [[] for _ in range(count)]

    def do(self, action: Action) -> None:
        kind, stage, microbatch = action
        (self._forward if kind == "F" else self._backward)(stage, microbatch)

    def _forward(self, stage: int, at: int) -> None:
        here = self.schedule.stages[stage]
        source = self.xs[at] if stage == 0 else self.outputs[stage - 1][at]
        x = (here.take(source) if stage == 0 else source.detach().to(here.device)).detach().realize()
        x.requires_grad = stage > 0
        self.inputs[stage][at] = x
        y = here.submod(x)
        if stage == len(self.schedule.stages) - 1:
            loss = self.schedule.loss_fn(y, here.take(self.targets[at]))
            self.losses[at] = loss
            Tensor.realize(y, loss)
        else:
            y.realize()
        self.outputs[stage][at] = y

    def _backward(self, stage: int, at: int) -> None:
        here, x = self.schedule.stages[stage], self.inputs[stage][at]
        wanted = here.parameters + ([x] if stage > 0 else [])
        if stage == len(self.schedule.stages) - 1:
            found = (self.losses[at] / len(self.xs)).gradient(*wanted)
            self.losses[at] = self.losses[at].detach()
        else:
            slope = self.slopes[stage][at].to(here.device)
            found = self.outputs[stage][at].gradient(*wanted, gradient=slope)
            self.slopes[stage][at] = None
        own = found[:len(here.parameters)]
        sums = self.gradients[stage]
        self.gradients[stage] = [a + b for a, b in zip(sums, own)] if sums else list(own)
        Tensor.realize(*self.gradients[stage], *found[len(own):])
        if stage > 0:
            self.slopes[stage - 1][at] = found[-1]
        # Nothing needs what led to them any more.
        self.outputs[stage][at] = self.outputs[stage][at].detach()
        self.inputs[stage][at] = None

    def give_gradients(self) -> None:
        for stage, gradients in zip(self.schedule.stages, self.gradients):
            for parameter, gradient in zip(stage.parameters, gradients):
                parameter.grad = gradient if parameter.grad is None else parameter.grad + gradient
