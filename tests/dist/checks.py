"""Run by several processes: doorbell.distributed as its users call it, against what one process computes.

usage: checks.py                      everything but checkpoints
       checks.py mixed                process 0 computes on an emulated GPU, the others on their CPUs
       checks.py train FOLDER STEPS   learns on from FOLDER where it is there; prints the losses; writes FOLDER
"""
import os
import sys

import numpy as np

import doorbell
import doorbell.distributed as dist
from doorbell import Tensor, nn

dist.init_process_group(timeout=60)
RANK, COUNT = dist.get_rank(), dist.get_world_size()
EVERYWHERE = dist.devices("CPU")


def numbers(*shape, seed):
    return Tensor(np.random.default_rng(seed).standard_normal(shape).astype(np.float32))


def same(found, expected, tolerance=1e-5):
    np.testing.assert_allclose(found.to("CPU").numpy(), expected, rtol=tolerance, atol=tolerance)


class Net:
    def __init__(self):
        self.first, self.second = nn.Linear(6, 8), nn.Linear(8, 4)

    def __call__(self, x):
        return self.second(self.first(x).tanh())


def collectives():
    x = Tensor([1.0 + RANK, 2.0])
    dist.all_reduce(x)
    same(x, [COUNT * (COUNT + 1) / 2, 2 * COUNT])
    parts = [Tensor.zeros(1) for _ in range(COUNT)]
    dist.all_gather(parts, Tensor([float(RANK)]))
    assert [part.item() for part in parts] == list(range(COUNT))
    whole = Tensor.zeros(COUNT * 2)
    dist.all_gather_into_tensor(whole, Tensor([float(RANK), -1.0]))
    same(whole, [number for rank in range(COUNT) for number in (rank, -1.0)])
    own = Tensor.zeros(2)
    dist.reduce_scatter_tensor(own, Tensor.arange(2 * COUNT).cast("float32"), dist.ReduceOp.MAX)
    same(own, [2 * RANK, 2 * RANK + 1])
    column = Tensor.zeros(COUNT)
    dist.all_to_all_single(column, Tensor.arange(COUNT).cast("float32") + 10 * RANK)
    same(column, [10 * rank + RANK for rank in range(COUNT)])
    y = Tensor([float(RANK)])
    dist.broadcast(y, src=COUNT - 1)
    assert y.item() == COUNT - 1
    if COUNT > 1 and RANK < 2:
        message = Tensor([7.0, 8.0])
        if RANK == 0:
            dist.send(message, 1)
        else:
            received = Tensor.zeros(2)
            assert dist.recv(received, 0) == 0
            same(received, [7, 8])
    dist.barrier()
    rows = dist.from_local(Tensor([[float(RANK), 1.0]]), EVERYWHERE)
    assert rows.shape == (COUNT, 2)
    same(rows.sum(0), [COUNT * (COUNT - 1) / 2, COUNT])
    same(dist.to_local(rows * 2), [[2 * RANK, 2]])


def train(model, inputs, optimizer, steps, first=0):
    @doorbell.jit
    def step(x, y):
        optimizer.zero_grad()
        loss = (model(x) - y).square().mean()
        loss.backward()
        optimizer.step()
        return loss

    losses = []
    for i in range(first, first + steps):
        x, y = numbers(8, 6, seed=i), numbers(8, 4, seed=100 + i)
        losses.append(step(inputs(x), inputs(y)).item())
    return losses


def training():
    doorbell.manual_seed(3)
    alone = Net()
    expected = train(alone, lambda x: x, nn.optim.Adam(nn.state.get_parameters(alone), lr=0.05), 5)
    rows = lambda x: x.shard(EVERYWHERE, axis=0).contiguous().realize()
    for shares_state in (False, True):
        doorbell.manual_seed(3)
        model = nn.parallel.DistributedDataParallel(Net(), EVERYWHERE)
        optimizer = (dist.optim.ZeroRedundancyOptimizer(model.parameters(), nn.optim.Adam, lr=0.05) if shares_state
                     else nn.optim.Adam(model.parameters(), lr=0.05))
        np.testing.assert_allclose(train(model, rows, optimizer, 5), expected, rtol=1e-4)
        for name, tensor in model.state_dict().items():
            same(tensor, nn.state.get_state_dict(alone)[name.removeprefix("module.")].numpy(), 1e-3)


def layers_in_parts():
    doorbell.manual_seed(4)
    first = nn.parallel.ColumnParallelLinear(6, 8, EVERYWHERE)
    second = nn.parallel.RowParallelLinear(8, 4, EVERYWHERE)
    x = numbers(5, 6, seed=1)
    weights = [tensor.to("CPU").numpy() for tensor in (first.weight, first.bias, second.weight, second.bias)]
    expected = (x.numpy() @ weights[0].T + weights[1]) @ weights[2].T + weights[3]
    same(second(first(x.to(EVERYWHERE))), expected, 1e-4)


def mesh_rows():
    mesh = dist.init_device_mesh("cpu", (COUNT // 2, 2) if COUNT % 2 == 0 else (COUNT, 1), ("data", "model"))
    assert mesh.get_coordinate() == [RANK // mesh.shape[1], RANK % mesh.shape[1]]
    row = mesh.devices("model")
    assert len(row) == mesh.shape[1]
    # Each row has a value of its own.
    number = float(mesh.get_coordinate()[0])
    total = Tensor.full((4,), number).shard(row, axis=0).sum()
    assert total.to("CPU").item() == 4 * number


def mixed():
    kinds = ["AMD@0"] + [f"CPU@{rank}" for rank in range(1, COUNT)]
    a, b = numbers(8, 6, seed=1), numbers(6, 4, seed=2)
    x, w = a.shard(kinds, axis=0), b.to(kinds)
    x.requires_grad = w.requires_grad = True
    loss = (x @ w).square().sum()
    loss.backward()
    product = a.numpy() @ b.numpy()
    same(loss, (product ** 2).sum(), 1e-4)
    same(x.grad, 2 * product @ b.numpy().T, 1e-4)
    same(w.grad, 2 * a.numpy().T @ product, 1e-4)
    same(x.detach().shard(kinds, axis=1).flip(1), a.numpy()[:, ::-1])


def resumed(folder, steps):
    """Losses of so many steps; from a checkpoint, where there is one."""
    doorbell.manual_seed(5)
    model = nn.parallel.DistributedDataParallel(Net(), EVERYWHERE)
    optimizer = dist.optim.ZeroRedundancyOptimizer(model.parameters(), nn.optim.SGD, lr=0.1)
    # Weights in parts are written in parts.
    counter = Tensor.zeros(4).shard(EVERYWHERE, axis=0).contiguous().realize()
    everything = {"counter": counter, **model.state_dict()}
    if os.path.isdir(folder):
        dist.checkpoint.load_state_dict(everything, folder)
        optimizer.gather_from_parameters()
    first = int(counter.to("CPU").numpy()[0])
    losses = train(model, lambda x: x.shard(EVERYWHERE, axis=0).contiguous().realize(), optimizer, steps, first)
    counter.assign(counter + steps).realize()
    dist.checkpoint.save(everything, folder)
    if RANK == 0:
        print("losses", *losses, flush=True)


if __name__ == "__main__":
    if sys.argv[1:] == ["mixed"]:
        mixed()
    elif len(sys.argv) > 1:
        resumed(sys.argv[2], int(sys.argv[3]))
    else:
        for check in (collectives, training, layers_in_parts, mesh_rows):
            check()
        if RANK == 0:
            print("done")
