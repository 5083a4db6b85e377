"""Learns the digits in several processes: mpirun -n 4 python examples/distributed/digits.py

Each process has some images of every batch, and a part of the optimizer's state. The losses are those of one process,
within the order of sums. Started again with --resume, in any number of processes, it goes on where the checkpoint was
made.
"""
import argparse
import os

import doorbell
import doorbell.distributed as dist
from doorbell import Tensor, nn

DATA = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "..", "data", "mnist")


class Net:
    def __init__(self) -> None:
        self.conv, self.norm = nn.Conv2d(1, 8, 5, stride=2), nn.BatchNorm2d(8)
        self.linear = nn.Linear(8 * 6 * 6, 10)

    def __call__(self, x: Tensor) -> Tensor:
        return self.linear(self.norm(self.conv(x).relu()).max_pool2d(2).flatten(1))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=40)
    parser.add_argument("--batch", type=int, default=128)
    parser.add_argument("--checkpoint", help="a folder, written at the end")
    parser.add_argument("--resume", help="a checkpoint to go on from")
    options = parser.parse_args()

    if "OMPI_COMM_WORLD_SIZE" in os.environ or "PMI_RANK" in os.environ:  # else one process, without MPI
        dist.init_process_group(timeout=120)
    everywhere = dist.devices("CPU")
    doorbell.manual_seed(1)
    model = nn.parallel.DistributedDataParallel(Net(), everywhere)
    optimizer = dist.optim.ZeroRedundancyOptimizer(model.parameters(), nn.optim.SGD, lr=0.1)
    first = 0
    if options.resume:
        dist.checkpoint.load_state_dict(model, options.resume)
        optimizer.gather_from_parameters()
        first = int(options.resume.rpartition("-")[2])

    images = nn.datasets.load_idx(os.path.join(DATA, "t10k-images-idx3-ubyte.gz"))
    labels = nn.datasets.load_idx(os.path.join(DATA, "t10k-labels-idx1-ubyte.gz")).cast("int32").realize()
    images = (images.cast("float32") / 255).unsqueeze(1).realize()

    @doorbell.jit
    def step(x: Tensor, y: Tensor) -> Tensor:
        optimizer.zero_grad()
        loss = model(x).cross_entropy(y)
        loss.backward()
        optimizer.step()
        return loss

    count = images.shape[0] // options.batch
    with doorbell.train():
        for i in range(first, first + options.steps):
            begin = i % count * options.batch
            x, y = images[begin:begin + options.batch], labels[begin:begin + options.batch]
            loss = step(x.shard(everywhere, axis=0).contiguous().realize(),
                        y.shard(everywhere, axis=0).contiguous().realize())
            if dist.get_rank() == 0 and (i % 10 == 9 or i == first):
                print(f"step {i + 1}: loss {loss.item():.4f}", flush=True)
    if options.checkpoint:
        dist.checkpoint.save(model, f"{options.checkpoint}-{first + options.steps}")


if __name__ == "__main__":
    main()
