"""Steps of training by turns with PyTorch: python3 testdata/peers/training.py [WIDTH [softmax|power [fp32|bf16]]]

A GPT-NeoX of 6 layers, 8 heads, context 256, batch 16, on random bytes. PyTorch compiles its step."""

import contextlib
import pathlib
import random
import sys
import tempfile
import time

import peer

peer.need("torch", "numpy", "setuptools")
import torch
from torch import nn
from torch.nn import functional

LAYERS, HEADS, CONTEXT, BATCH, VOCAB, STEPS = 6, 8, 256, 16, 256, 4
width = int(sys.argv[1]) if len(sys.argv) > 1 else 256
attention = sys.argv[2] if len(sys.argv) > 2 else "softmax"
precision = sys.argv[3] if len(sys.argv) > 3 else "fp32"

angles = torch.outer(torch.arange(CONTEXT), 10000.0 ** (-torch.arange(0, width // HEADS, 2) / (width // HEADS)))
cosine, sine = angles.cos().repeat(1, 2), angles.sin().repeat(1, 2)
causal = torch.ones(CONTEXT, CONTEXT).tril()


def rotated(x):
    a, b = x.chunk(2, -1)
    return x * cosine + torch.cat((-b, a), -1) * sine


def power_softmax(scores):
    """The stable form: a row divided by its largest score, to the power of 4, and the mean for the sum."""
    scores = scores.float() * causal
    powers = (scores / (scores.abs().amax(-1, keepdim=True) + 1e-6)) ** 4
    return powers / (1e-3 + powers.sum(-1, keepdim=True))


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.norms = nn.ModuleList(nn.LayerNorm(width) for _ in range(2))
        self.qkv, self.out = nn.Linear(width, 3 * width), nn.Linear(width, width)
        self.up, self.down = nn.Linear(width, 4 * width), nn.Linear(4 * width, width)

    def forward(self, x):
        q, k, v = (part.view(BATCH, CONTEXT, HEADS, -1).transpose(1, 2) for part in self.qkv(self.norms[0](x)).chunk(3, -1))
        q, k = rotated(q).to(v.dtype), rotated(k).to(v.dtype)
        if attention == "softmax":
            y = functional.scaled_dot_product_attention(q, k, v, is_causal=True)
        else:
            y = power_softmax(q @ k.transpose(-1, -2) / q.shape[-1] ** 0.5).to(v.dtype) @ v
        return x + self.out(y.transpose(1, 2).reshape(x.shape)) + self.down(functional.gelu(self.up(self.norms[1](x))))


model = nn.Sequential(nn.Embedding(VOCAB, width), *(Block() for _ in range(LAYERS)), nn.LayerNorm(width), nn.Linear(width, VOCAB))
optimiser = torch.optim.AdamW(model.parameters(), 1e-3)
compiled = torch.compile(model)


def step():
    text = torch.randint(VOCAB, (BATCH, CONTEXT + 1))
    with torch.autocast("cpu", torch.bfloat16) if precision == "bf16" else contextlib.nullcontext():
        loss = functional.cross_entropy(compiled(text[:, :-1]).flatten(0, 1).float(), text[:, 1:].flatten())
    optimiser.zero_grad()
    loss.backward()
    nn.utils.clip_grad_norm_(model.parameters(), 1.0)
    optimiser.step()


def theirs():
    begin = time.perf_counter()
    for _ in range(STEPS):
        step()
    return STEPS * BATCH * CONTEXT / (time.perf_counter() - begin)


with tempfile.TemporaryDirectory() as folder:
    folder = pathlib.Path(folder)
    (folder / "text").write_bytes(random.Random(1).randbytes(1 << 17))

    def ours():
        """The first stage alone says the speed: the others have one step."""
        kind = ["--attention", "softmax"] if attention == "softmax" else ["--power", 4, "--score-offset", "none"]
        said = peer.ours("train", "--text", folder / "text", "--layers", LAYERS, "--width", width, "--heads", HEADS, "--ffn", 4 * width,
                         "--context", CONTEXT, "--batch", BATCH, "--steps", STEPS, "--range-steps", 1, "--precision", precision,
                         "--out", pathlib.Path(tempfile.mkdtemp(dir=folder)), *kind)
        stage = "softmax" if attention == "softmax" else "power_softmax"
        return peer.number(stage + r" +\d+ steps, .*?([\d.]+) tokens/s", said)

    for _ in range(2):
        step()
    peer.by_turns(3, "tokens/s", ours, theirs, "PyTorch " + torch.__version__)
