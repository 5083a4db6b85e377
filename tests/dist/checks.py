"""Run by several processes: doorbell.distributed as its users call it, against what one process computes.

usage: checks.py                      everything but checkpoints
       checks.py memory               weights in parts take less memory: after one another
       checks.py mixed                process 0 computes on an emulated GPU, the others on their CPUs
       checks.py interrupted FOLDER RANK CALL    process RANK kills itself in call number CALL that saving makes
       checks.py whole FOLDER         what interrupted left is one checkpoint or the other, and can be replaced
       checks.py train FOLDER STEPS   learns on from FOLDER where it is there; prints the losses; writes FOLDER
"""
import os
import signal
import sys

import numpy as np

import doorbell
import doorbell.distributed as dist
from doorbell import Tensor, nn

dist.init_process_group(timeout=float(os.environ.get("CHECKS_TIMEOUT", "60")))
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


class Block:
    def __init__(self, width):
        self.up, self.down = nn.Linear(width, 2 * width), nn.Linear(2 * width, width)

    def __call__(self, x):
        return x + self.down(self.up(x).tanh())


class Deep:
    """From 6 numbers to 4, as train() wants it."""

    def __init__(self, blocks=3):
        self.blocks, self.last = [Block(6) for _ in range(blocks)], nn.Linear(6, 4)

    def __call__(self, x):
        for block in self.blocks:
            x = block(x)
        return self.last(x)


class Part:
    def __init__(self, *layers):
        self.layers = list(layers)

    def __call__(self, x):
        for layer in self.layers:
            x = layer(x)
        return x


def rows(x):
    return x.shard(EVERYWHERE, axis=0).contiguous().realize()


def trained_alone(steps=4):
    doorbell.manual_seed(6)
    model = Deep()
    losses = train(model, lambda x: x, nn.optim.Adam(nn.state.get_parameters(model), lr=0.05), steps)
    return losses, {name: tensor.numpy() for name, tensor in nn.state.get_state_dict(model).items()}


def same_as_alone(losses, tensors, expected):
    np.testing.assert_allclose(losses, expected[0], rtol=1e-4)
    assert sorted(tensors) == sorted(expected[1])
    for name, tensor in tensors.items():
        same(tensor, expected[1][name], 1e-3)


def weights_in_parts():
    expected = trained_alone()
    doorbell.manual_seed(6)
    model = Deep()
    for block in model.blocks:
        dist.fsdp.fully_shard(block)
    dist.fsdp.fully_shard(model)
    optimizer = nn.optim.Adam(nn.state.get_parameters(model), lr=0.05)
    same_as_alone(train(model, rows, optimizer, 4), nn.state.get_state_dict(model), expected)
    weight = model.blocks[0].up.weight  # 12 x 6
    assert weight.shard_axis == (0 if COUNT > 1 else None)
    loss = model(rows(numbers(8, 6, seed=1))).square().mean()
    optimizer.zero_grad()
    loss.backward()
    assert weight.grad.shard_axis == weight.shard_axis
    alone = {name: tensor.detach().to("CPU").realize() for name, tensor in nn.state.get_state_dict(model).items()}
    whole = Deep()
    nn.state.load_state_dict(whole, alone)
    whole(numbers(8, 6, seed=1)).square().mean().backward()
    for name, tensor in nn.state.get_state_dict(whole).items():
        same(nn.state.get_state_dict(model)[name].grad, tensor.grad.numpy(), 1e-4)


def stages():
    if COUNT == 1:
        return
    expected = trained_alone()
    count = min(COUNT, 4)
    for kind in (dist.pipelining.ScheduleGPipe, dist.pipelining.Schedule1F1B):
        doorbell.manual_seed(6)
        model = Deep()
        layers = [*model.blocks, model.last]
        parts = [Part(*layers[i * 4 // count:(i + 1) * 4 // count]) for i in range(count)]
        pipeline = [dist.pipelining.PipelineStage(part, i, count, EVERYWHERE[i]) for i, part in enumerate(parts)]
        schedule = kind(pipeline, 4, lambda y, target: (y - target).square().mean())
        optimizers = [nn.optim.Adam(stage.parameters, lr=0.05) for stage in pipeline]

        @doorbell.jit
        def step(x, y):
            for optimizer in optimizers:
                optimizer.zero_grad()
            losses = []
            schedule.step(x, target=y, losses=losses)
            for optimizer in optimizers:
                optimizer.step()
            return pipeline[-1].give(Tensor.stack(*losses).mean())

        losses = [step(numbers(8, 6, seed=i), numbers(8, 4, seed=100 + i)).item() for i in range(4)]
        given = [stage.give(tensor.detach()) for stage in pipeline
                 for tensor in nn.state.get_state_dict(stage.submod).values()]
        same_as_alone(losses, dict(zip(nn.state.get_state_dict(model), given)), expected)


def mesh_of_two_axes():
    """Data and tensor parallel at once."""
    if COUNT % 2:
        return
    mesh = dist.init_device_mesh("CPU", (COUNT // 2, 2), ("data", "model"))
    shard, copies = dist.Shard, dist.Replicate()
    x, w = numbers(8, 6, seed=1), numbers(6, 4, seed=2)
    layouts = [(copies, copies), (shard(0), copies), (copies, shard(0)), (shard(0), shard(1)), (shard(1), shard(0)),
               (shard(0), shard(0))]
    layouts = [layout for layout in layouts if COUNT <= 4 or layout[0] != shard(1)]  # of 6 columns
    for source in layouts:
        placed = dist.distribute_tensor(x, mesh, source).contiguous().realize()
        if COUNT > 2:
            assert dist.placements_of(placed, mesh) == list(source)
        for target in layouts:
            same(dist.redistribute(placed, mesh, target).contiguous().realize(), x.numpy())
        same(placed.sum(0), x.numpy().sum(0), 1e-4)
        same(placed.sum(), x.numpy().sum(), 1e-4)
    ones = dist.from_local(Tensor([float(RANK), 1.0]), mesh, placements=[dist.Partial(), dist.Partial()])
    same(ones, [COUNT * (COUNT - 1) / 2, COUNT])
    column = dist.from_local(Tensor([float(mesh.get_coordinate()[1])]), mesh, placements=[dist.Partial(), shard(0)])
    same(column, [0, COUNT // 2])

    class Net2d:
        def __init__(self, on=None):
            if on is None:
                self.first, self.second = nn.Linear(6, 8), nn.Linear(8, 4)
            else:
                self.first, self.second = (nn.parallel.ColumnParallelLinear(6, 8, on),
                                           nn.parallel.RowParallelLinear(8, 4, on))

        def __call__(self, x):
            return self.second(self.first(x).tanh())

    doorbell.manual_seed(3)
    alone = Net2d()
    expected = train(alone, lambda x: x, nn.optim.Adam(nn.state.get_parameters(alone), lr=0.05), 5)
    doorbell.manual_seed(3)
    model = nn.parallel.DistributedDataParallel(Net2d(mesh), mesh)
    batch = lambda x: dist.distribute_tensor(x, mesh, [shard(0), copies]).contiguous().realize()
    optimizer = nn.optim.Adam(model.parameters(), lr=0.05)
    np.testing.assert_allclose(train(model, batch, optimizer, 5), expected, rtol=1e-4)
    weight = model.module.first.weight
    assert dist.placements_of(weight, mesh) == [copies if mesh.shape[0] > 1 else copies, shard(0)]
    for name, tensor in model.state_dict().items():
        same(tensor, nn.state.get_state_dict(alone)[name.removeprefix("module.")].numpy(), 1e-3)


def memory():
    """Of one training step: first with weights in parts, then with copies, because the peak only grows."""
    width, blocks = 256, 6

    class Wide:
        def __init__(self):
            self.blocks = [Block(width) for _ in range(blocks)]

        def __call__(self, x):
            for block in self.blocks:
                x = block(x)
            return x

    def peak(is_sharded):
        before = doorbell._doorbell._memory_peak("CPU")
        model = Wide()
        if is_sharded:
            for block in model.blocks:
                dist.fsdp.fully_shard(block)
        else:
            nn.parallel.replicate(model, EVERYWHERE)
        optimizer = nn.optim.Adam(nn.state.get_parameters(model), lr=0.01)
        for i in range(2):
            optimizer.zero_grad()
            model(rows(numbers(8, width, seed=i))).square().mean().backward()
            optimizer.step()
        return doorbell._doorbell._memory_peak("CPU") - before

    weights = blocks * (4 * width * width + 3 * width) * 4
    sharded = peak(True)
    copied = sharded + peak(False)
    if RANK == 0:
        print("memory", COUNT, weights, sharded, copied, flush=True)


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
    losses = train(model, rows, optimizer, steps, first)
    counter.assign(counter + steps).realize()
    dist.checkpoint.save(everything, folder)
    if RANK == 0:
        print("losses", *losses, flush=True)


def kept(number):
    """Two tensors of which each element is the number: one in parts, one in copies."""
    return {"parts": Tensor.full((8, 3), number).shard(EVERYWHERE, axis=0).contiguous().realize(),
            "copies": Tensor.full((5,), number).to(EVERYWHERE).contiguous().realize()}


def interrupted(folder, rank, call):
    dist.checkpoint.save(kept(1.0), folder)
    calls = 0

    def counted(function):
        def run(*args, **named):
            nonlocal calls
            calls += 1
            if RANK == rank and calls == call:
                os.kill(os.getpid(), signal.SIGKILL)
            return function(*args, **named)
        return run

    for name in ("makedirs", "rename", "fsync", "open", "close"):
        setattr(os, name, counted(getattr(os, name)))
    dist.checkpoint.safe_save = counted(dist.checkpoint.safe_save)
    dist.checkpoint._remove = counted(dist.checkpoint._remove)
    dist.checkpoint.save(kept(2.0), folder)
    if RANK == 0:
        print("calls", calls, flush=True)


def whole(folder):
    for expected in ((1.0, 2.0), (3.0,)):
        found = dist.checkpoint.load(folder)
        numbers_found = {number for tensor in found.values() for number in tensor.numpy().flatten().tolist()}
        assert len(numbers_found) == 1 and numbers_found <= set(expected), numbers_found
        assert sorted(found) == ["copies", "parts"] and found["parts"].shape == (8, 3)
        dist.checkpoint.save(kept(3.0), folder)
    assert not os.path.exists(folder + ".partial")


if __name__ == "__main__":
    if sys.argv[1:] == ["mixed"]:
        mixed()
    elif sys.argv[1:] == ["memory"]:
        memory()
    elif sys.argv[1:2] == ["interrupted"]:
        interrupted(sys.argv[2], int(sys.argv[3]), int(sys.argv[4]))
    elif sys.argv[1:2] == ["whole"]:
        whole(sys.argv[2])
    elif len(sys.argv) > 1:
        resumed(sys.argv[2], int(sys.argv[3]))
    else:
        for check in (collectives, training, layers_in_parts, mesh_rows, mesh_of_two_axes, weights_in_parts, stages):
            check()
        if RANK == 0:
            print("done")
