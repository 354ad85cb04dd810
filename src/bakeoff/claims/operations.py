"""What a computation takes whatever the machine: its matrix products, how many of them wait for each other, its largest tensor."""

from collections.abc import Callable, Iterable
from dataclasses import dataclass
from typing import Any

import torch
from torch import nn
from torch.utils._python_dispatch import TorchDispatchMode
from torch.utils._pytree import tree_leaves
from torch.utils.flop_counter import FlopCounterMode

_PRODUCTS = {torch.ops.aten.mm, torch.ops.aten.addmm, torch.ops.aten.bmm, torch.ops.aten.baddbmm}


@dataclass(frozen=True, kw_only=True)
class Counted:
    """What was counted while a function ran."""

    flops: int
    """Multiplications and additions of its matrix products."""
    chain: int
    """Matrix products on the longest path from what is given to what comes out: these cannot run side by side."""
    largest_tensor_bytes: int
    """Of the tensors that PyTorch's operations returned; what a fused one uses inside is not seen."""


def count(run: Callable[[], object]) -> Counted:
    """Run a function without gradients and count; fused attention counts as no link of the chain."""
    with torch.no_grad(), FlopCounterMode(display=False) as flops, _Watch() as watch:
        run()
    return Counted(flops=flops.get_total_flops(), chain=watch.longest, largest_tensor_bytes=watch.largest_bytes)


def write_out(lstm: nn.LSTM, inputs: torch.Tensor) -> torch.Tensor:
    """States of a one-layer LSTM that reads forwards (Hochreiter & Schmidhuber, 1997, with forget gates), step by step.

    All products with the inputs at once, then a product with the last state a step.

    Shape: inputs (batch, longest, width) → (batch, longest, hidden).
    """
    inward, onward, inward_bias, onward_bias = lstm.all_weights[0]
    given = inputs @ inward.T + inward_bias + onward_bias  # (batch, longest, 4 · hidden)
    state = cell = inputs.new_zeros(len(inputs), lstm.hidden_size)
    states = []
    for step in range(inputs.shape[1]):
        enter, forget, new, leave = (given[:, step] + state @ onward.T).chunk(4, dim=1)
        cell = forget.sigmoid() * cell + enter.sigmoid() * new.tanh()
        state = leave.sigmoid() * cell.tanh()
        states.append(state)
    return torch.stack(states, dim=1)


class _Watch(TorchDispatchMode):  # type: ignore[no-untyped-call]
    """Follows every operation: how many products lie behind each tensor, by its storage, and how large tensors become."""

    def __init__(self) -> None:
        super().__init__()  # type: ignore[no-untyped-call]
        self.longest, self.largest_bytes = 0, 0
        self._links: dict[int, int] = {}
        self._kept: list[torch.Tensor] = []  # so that no storage's address is used twice

    def __torch_dispatch__(self, func: Any, types: Any, args: Any = (), kwargs: Any = None) -> Any:
        made = func(*args, **(kwargs or {}))
        behind = max((self._links.get(_address(tensor), 0) for tensor in _tensors((args, kwargs))), default=0)
        links = behind + (func.overloadpacket in _PRODUCTS)
        for tensor in _tensors(made):
            self._links[_address(tensor)] = max(links, self._links.get(_address(tensor), 0))
            self._kept.append(tensor)
            self.largest_bytes = max(self.largest_bytes, tensor.numel() * tensor.element_size())
        self.longest = max(self.longest, links)
        return made


def _tensors(tree: Any) -> Iterable[torch.Tensor]:
    return (leaf for leaf in tree_leaves(tree) if isinstance(leaf, torch.Tensor))


def _address(tensor: torch.Tensor) -> int:
    return tensor.untyped_storage().data_ptr()
