"""The models of bench/models in PyTorch, laid out the same."""
import torch
import torch.nn.functional as F
from torch import nn


class NormedConv(nn.Module):
    def __init__(self, before, after, kernel, stride=1, groups=1):
        super().__init__()
        self.conv = nn.Conv2d(before, after, kernel, stride, kernel // 2, groups=groups, bias=False)
        self.norm = nn.BatchNorm2d(after)

    def forward(self, x):
        return self.norm(self.conv(x))


class ResidualBlock(nn.Module):
    def __init__(self, before, width, stride, bottleneck):
        super().__init__()
        after = 4 * width if bottleneck else width
        if bottleneck:
            convs = [NormedConv(before, width, 1), NormedConv(width, width, 3, stride), NormedConv(width, after, 1)]
        else:
            convs = [NormedConv(before, width, 3, stride), NormedConv(width, width, 3)]
        self.convs = nn.ModuleList(convs)
        same = stride == 1 and before == after
        self.shortcut = nn.Identity() if same else NormedConv(before, after, 1, stride)

    def forward(self, x):
        y = self.convs[0](x)
        for conv in self.convs[1:]:
            y = conv(F.relu_(y))
        return F.relu_(y + self.shortcut(x))


class ResNet(nn.Module):
    def __init__(self, counts, bottlenecks):
        super().__init__()
        self.stem = NormedConv(3, 64, 7, 2)
        blocks, before = [], 64
        for stage, count in enumerate(counts):
            width = 64 << stage
            for i in range(count):
                blocks.append(ResidualBlock(before, width, 2 if stage > 0 and i == 0 else 1, bottlenecks))
                before = 4 * width if bottlenecks else width
        self.blocks = nn.Sequential(*blocks)
        self.linear = nn.Linear(before, 1000)

    def forward(self, x):
        x = F.max_pool2d(F.relu_(self.stem(x)), 3, 2, 1)
        return self.linear(self.blocks(x).mean((2, 3)))


class InvertedResidual(nn.Module):
    def __init__(self, before, after, stride, expansion):
        super().__init__()
        inside = before * expansion
        self.widen = NormedConv(before, inside, 1) if expansion > 1 else None
        self.depthwise = NormedConv(inside, inside, 3, stride, inside)
        self.narrow = NormedConv(inside, after, 1)
        self.around = stride == 1 and before == after

    def forward(self, x):
        inside = x if self.widen is None else F.relu6(self.widen(x), inplace=True)
        y = self.narrow(F.relu6(self.depthwise(inside), inplace=True))
        return x + y if self.around else y


class MobileNetV2(nn.Module):
    STAGES = ((1, 16, 1, 1), (6, 24, 2, 2), (6, 32, 3, 2), (6, 64, 4, 2), (6, 96, 3, 1), (6, 160, 3, 2), (6, 320, 1, 1))

    def __init__(self):
        super().__init__()
        self.stem = NormedConv(3, 32, 3, 2)
        blocks, before = [], 32
        for expansion, after, count, stride in self.STAGES:
            for i in range(count):
                blocks.append(InvertedResidual(before, after, stride if i == 0 else 1, expansion))
                before = after
        self.blocks = nn.Sequential(*blocks)
        self.head = NormedConv(before, 1280, 1)
        self.linear = nn.Linear(1280, 1000)

    def forward(self, x):
        x = self.blocks(F.relu6(self.stem(x), inplace=True))
        return self.linear(F.relu6(self.head(x), inplace=True).mean((2, 3)))


class GptBlock(nn.Module):
    def __init__(self, width, heads):
        super().__init__()
        self.heads = heads
        self.norm1, self.norm2 = nn.LayerNorm(width), nn.LayerNorm(width)
        self.qkv, self.projection = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.widen, self.narrow = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x, cache):
        batch, length, width = x.shape
        q, k, v = self.qkv(self.norm1(x)).view(batch, length, 3, self.heads, width // self.heads).permute(2, 0, 3, 1, 4)
        if cache is not None:
            k, v = torch.cat([cache[0], k], 2), torch.cat([cache[1], v], 2)
        y = F.scaled_dot_product_attention(q, k, v, is_causal=cache is None)
        x = x + self.projection(y.transpose(1, 2).reshape(batch, length, width))
        return x + self.narrow(F.gelu(self.widen(self.norm2(x)), approximate="tanh"))


class Gpt(nn.Module):
    def __init__(self, layers, width, heads, vocabulary, context):
        super().__init__()
        self.tokens, self.positions = nn.Embedding(vocabulary, width), nn.Embedding(context, width)
        self.blocks = nn.ModuleList(GptBlock(width, heads) for _ in range(layers))
        self.norm = nn.LayerNorm(width)

    def forward(self, numbers, caches=None, first=0, every=False):
        x = self.tokens(numbers) + self.positions(torch.arange(first, first + numbers.shape[1]))
        for i, block in enumerate(self.blocks):
            x = block(x, caches[i] if caches else None)
        x = self.norm(x)
        return F.linear(x if every else x[:, -1], self.tokens.weight)


def convnet():
    return nn.Sequential(
        nn.Conv2d(1, 32, 5), nn.ReLU(), nn.Conv2d(32, 32, 5), nn.ReLU(), nn.BatchNorm2d(32), nn.MaxPool2d(2),
        nn.Conv2d(32, 64, 3), nn.ReLU(), nn.Conv2d(64, 64, 3), nn.ReLU(), nn.BatchNorm2d(64), nn.MaxPool2d(2),
        nn.Flatten(), nn.Linear(576, 10))
