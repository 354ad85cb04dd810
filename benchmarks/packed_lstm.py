"""A training step of our bidirectional layer against PyTorch's packed one on ragged documents, by length, in one run.

python benchmarks/packed_lstm.py [longest]
"""

import sys
import time

import torch
from torch import nn
from torch.nn.utils.rnn import pack_padded_sequence, pad_packed_sequence

from bakeoff.models.bilstm import BothWays

BATCH, WIDTH, HIDDEN = 16, 100, 128


def seconds(layer: nn.Module, packed: bool, tokens: int, steps: int = 2) -> float:
    """Best of `steps` forward and backward passes on documents of half to all of `tokens`."""
    best = float("inf")
    lengths = torch.linspace(tokens, tokens // 2, BATCH).long()
    for _ in range(steps):
        inputs = torch.randn(BATCH, tokens, WIDTH, requires_grad=True)
        started = time.perf_counter()
        if packed:
            states, _ = pad_packed_sequence(layer(pack_padded_sequence(inputs, lengths, batch_first=True))[0], batch_first=True)
        else:
            states = layer(inputs, lengths)
        states.sum().backward()
        best = min(best, time.perf_counter() - started)
    return best


def main(longest: int) -> None:
    """Print both and their ratio at each length."""
    torch.set_num_threads(1)
    theirs, ours = nn.LSTM(WIDTH, HIDDEN, bidirectional=True, batch_first=True), BothWays(WIDTH, HIDDEN)
    tokens = 32
    while tokens <= longest:
        packed, turned = seconds(theirs, True, tokens), seconds(ours, False, tokens)
        print(f"{tokens:5} tokens: packed {1000 * packed:8.1f} ms, ours {1000 * turned:7.1f} ms, ratio {packed / turned:.1f}", flush=True)
        tokens *= 2


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 512)
