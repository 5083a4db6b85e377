"""A small GPT that learns the characters of a text, in several processes: data and tensor parallel at once.

    mpirun -n 4 python examples/distributed/language_model.py --model-parallel 2

The processes form a mesh: along "data" each row has some excerpts of a batch, along "model" each process has some heads
of every attention and some of the wide layer's numbers. The losses are those of one process, within the order of sums.
"""
import argparse
import os

import doorbell
import doorbell.distributed as dist
from doorbell import Tensor, nn

TEXT = os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "data", "sonnets.txt")
LAYERS, HEADS, WIDTH, CONTEXT = 2, 4, 64, 32


class Attention:
    def __init__(self, mesh: dist.DeviceMesh) -> None:
        self.query, self.key, self.value = (nn.parallel.ColumnParallelLinear(WIDTH, WIDTH, mesh) for _ in range(3))
        self.projection = nn.parallel.RowParallelLinear(WIDTH, WIDTH, mesh)

    def __call__(self, x: Tensor) -> Tensor:
        batch = x.shape[0]
        q, k, v = (layer(x).reshape(batch, CONTEXT, HEADS, WIDTH // HEADS).transpose(1, 2)
                   for layer in (self.query, self.key, self.value))
        seen = q.scaled_dot_product_attention(k, v, is_causal=True)
        return self.projection(seen.transpose(1, 2).reshape(batch, CONTEXT, WIDTH))


class Block:
    def __init__(self, mesh: dist.DeviceMesh) -> None:
        self.norm1, self.norm2, self.attention = nn.LayerNorm(WIDTH), nn.LayerNorm(WIDTH), Attention(mesh)
        self.widen = nn.parallel.ColumnParallelLinear(WIDTH, 4 * WIDTH, mesh)
        self.narrow = nn.parallel.RowParallelLinear(4 * WIDTH, WIDTH, mesh)

    def __call__(self, x: Tensor) -> Tensor:
        x = x + self.attention(self.norm1(x))
        return x + self.narrow(self.widen(self.norm2(x)).gelu())


class LanguageModel:
    def __init__(self, vocabulary: int, mesh: dist.DeviceMesh) -> None:
        self.characters, self.positions = nn.Embedding(vocabulary, WIDTH), nn.Embedding(CONTEXT, WIDTH)
        self.blocks = [Block(mesh) for _ in range(LAYERS)]
        self.norm, self.head = nn.LayerNorm(WIDTH), nn.Linear(WIDTH, vocabulary, bias=False)

    def __call__(self, numbers: Tensor) -> Tensor:
        x = self.characters(numbers) + self.positions.weight
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x))


class Text:
    """The text as numbers of its distinct characters."""

    def __init__(self) -> None:
        with open(TEXT, encoding="utf-8") as file:
            text = file.read()
        self.characters = sorted(set(text))
        self.numbers = [self.characters.index(character) for character in text]
        self.random = 1

    def batch(self, size: int) -> tuple[Tensor, Tensor]:
        """Random excerpts, the same in all processes, and the same shifted by one character."""
        starts = []
        for _ in range(size):
            self.random = (self.random * 1664525 + 1013904223) % (1 << 32)
            starts.append((self.random >> 8) % (len(self.numbers) - CONTEXT - 1))
        return (Tensor([self.numbers[at:at + CONTEXT] for at in starts], dtype="int32"),
                Tensor([self.numbers[at + 1:at + 1 + CONTEXT] for at in starts], dtype="int32"))


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--steps", type=int, default=100)
    parser.add_argument("--batch", type=int, default=8)
    parser.add_argument("--model-parallel", type=int, default=1, help="processes that share each layer")
    options = parser.parse_args()

    if "OMPI_COMM_WORLD_SIZE" in os.environ or "PMI_RANK" in os.environ:  # else one process, without MPI
        dist.init_process_group(timeout=120)
    shared = options.model_parallel
    mesh = dist.init_device_mesh("CPU", (dist.get_world_size() // shared, shared), ("data", "model"))
    text = Text()
    doorbell.manual_seed(1)
    model = nn.parallel.DistributedDataParallel(LanguageModel(len(text.characters), mesh), mesh)
    optimizer = nn.optim.AdamW(model.parameters(), lr=1e-3)

    @doorbell.jit
    def step(inputs: Tensor, labels: Tensor) -> Tensor:
        optimizer.zero_grad()
        loss = model(inputs).sparse_categorical_crossentropy(labels)
        loss.backward()
        optimizer.step()
        return loss

    def placed(x: Tensor) -> Tensor:
        return dist.distribute_tensor(x, mesh, [dist.Shard(0), dist.Replicate()]).contiguous().realize()

    with doorbell.train():
        for i in range(options.steps):
            inputs, labels = text.batch(options.batch)
            loss = step(placed(inputs), placed(labels))
            if dist.get_rank() == 0 and (i % 10 == 9 or i < 3):
                print(f"step {i + 1}: loss {loss.item():.5f}", flush=True)


if __name__ == "__main__":
    main()
