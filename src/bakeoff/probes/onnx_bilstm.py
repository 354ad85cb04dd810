"""Our BiLSTM as an ONNX graph, written node by node, so that one LSTM operator reads both ways (or one).

ONNX's LSTM takes the lengths of a padded batch and reads each direction to its real end, as packing does.
"""

from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import torch
from torch import nn

from bakeoff.models.bilstm import BiLstmClassifier, BothWays, Onward
from bakeoff.models.pooling import AttentionPooling

_OPSET, _IR_VERSION = 18, 10
_LOWEST = np.float32(-np.inf)


def write(module: BiLstmClassifier, file: Path) -> None:
    """Write the graph of a BiLSTM: `ids` (batch, longest) and `lengths` (batch,) to `logits` (batch, classes)."""
    import onnx

    graph = _Graph()
    states, last = _lstm(graph, module)
    pooled = last if module.pooling == "last" else _over_time(graph, states, module)
    product = graph.add("MatMul", pooled, graph.constant("head", module.head.weight.detach().T.numpy()))
    graph.add("Add", product, graph.constant("head_bias", module.head.bias.detach().numpy()), output="logits")
    integer, real = onnx.TensorProto.INT64, onnx.TensorProto.FLOAT
    inputs = [
        onnx.helper.make_tensor_value_info("ids", integer, ["batch", "longest"]),
        onnx.helper.make_tensor_value_info("lengths", integer, ["batch"]),
    ]
    outputs = [onnx.helper.make_tensor_value_info("logits", real, ["batch", module.head.out_features])]
    proto = onnx.helper.make_graph(graph.nodes, "bilstm", inputs, outputs, graph.initialisers)
    model = onnx.helper.make_model(proto, opset_imports=[onnx.helper.make_opsetid("", _OPSET)], ir_version=_IR_VERSION)
    onnx.checker.check_model(model)
    onnx.save(model, str(file))


class _Graph:
    """Nodes in order; `add` and `constant` return the name of what they give."""

    def __init__(self) -> None:
        self.nodes: list[Any] = []
        self.initialisers: list[Any] = []

    def add(self, operation: str, *inputs: str, output: str | None = None, **attributes: Any) -> str:
        return self.add_several(operation, inputs, [output or f"{operation}_{len(self.nodes)}"], **attributes)[0]

    def add_several(self, operation: str, inputs: tuple[str, ...], outputs: list[str], **attributes: Any) -> list[str]:
        import onnx

        self.nodes.append(onnx.helper.make_node(operation, list(inputs), outputs, name=f"{operation}_{len(self.nodes)}", **attributes))
        return outputs

    def constant(self, name: str, value: npt.NDArray[Any]) -> str:
        import onnx

        self.initialisers.append(onnx.numpy_helper.from_array(np.ascontiguousarray(value), name))
        return name


def _lstm(graph: _Graph, module: BiLstmClassifier) -> tuple[str, str]:
    """States (batch, longest, ways · hidden), and the end of each direction of the last layer (batch, ways · hidden)."""
    import onnx

    layers = [_directions(layer) for layer in module.layers]
    hidden, ways = layers[0][0].hidden_size, len(layers[0])
    direction = "bidirectional" if ways == 2 else "forward"
    flat = graph.constant("flat", np.array([0, 0, ways * hidden]))
    lengths = graph.add("Cast", "lengths", to=onnx.TensorProto.INT32)
    embedded = graph.add("Gather", graph.constant("embedding", module.embedding.weight.detach().numpy()), "ids")
    below = graph.add("Transpose", embedded, perm=[1, 0, 2])  # (longest, batch, embedding)
    end = ""
    for number, layer in enumerate(layers):
        weights = [graph.constant(f"{name}_{number}", value) for name, value in _layer_weights(layer).items()]
        outputs = [f"states_{number}", f"end_{number}"]
        graph.add_several("LSTM", (below, *weights, lengths), outputs, hidden_size=hidden, direction=direction)
        states, end = outputs  # (longest, ways, batch, hidden) and (ways, batch, hidden)
        below = graph.add("Reshape", graph.add("Transpose", states, perm=[0, 2, 1, 3]), flat)
    ends = graph.constant("ends", np.array([0, ways * hidden]))
    last = graph.add("Reshape", graph.add("Transpose", end, perm=[1, 0, 2]), ends)
    return graph.add("Transpose", below, perm=[1, 0, 2]), last


def _directions(layer: nn.Module) -> list[nn.LSTM]:
    """The LSTM that reads forwards, and the one that reads backwards where there is one."""
    assert isinstance(layer, BothWays | Onward)
    return [layer.forwards, layer.backwards] if isinstance(layer, BothWays) else [layer.forwards]


def _layer_weights(directions: list[nn.LSTM]) -> dict[str, npt.NDArray[np.float32]]:
    """W (ways, 4·hidden, input), R (ways, 4·hidden, hidden) and B (ways, 8·hidden), gates in ONNX's order."""
    found: dict[str, list[npt.NDArray[np.float32]]] = {"W": [], "R": [], "B": []}
    for lstm in directions:
        part = {kind: _gates(getattr(lstm, f"{kind}_l0")) for kind in ("weight_ih", "weight_hh", "bias_ih", "bias_hh")}
        found["W"].append(part["weight_ih"])
        found["R"].append(part["weight_hh"])
        found["B"].append(np.concatenate([part["bias_ih"], part["bias_hh"]]))
    return {name: np.stack(parts) for name, parts in found.items()}


def _gates(weight: torch.Tensor) -> npt.NDArray[np.float32]:
    """PyTorch orders gates input, forget, cell, output; ONNX input, output, forget, cell."""
    into, forget, cell, out = np.split(weight.detach().numpy(), 4)
    return np.concatenate([into, out, forget, cell])


def _over_time(graph: _Graph, states: str, module: BiLstmClassifier) -> str:
    """Max, mean or learned mean of `states` (batch, longest, width) over real tokens: (batch, width)."""
    import onnx

    zero, one = graph.constant("zero", np.array(0)), graph.constant("one", np.array(1))
    axis, last_axis = graph.constant("axis", np.array([1])), graph.constant("last_axis", np.array([2]))
    longest = graph.add("Squeeze", graph.add("Shape", "ids", start=1, end=2))
    steps = graph.add("Range", zero, longest, one)
    real = graph.add("Less", steps, graph.add("Unsqueeze", "lengths", axis))  # (batch, longest)
    mask = graph.add("Unsqueeze", real, last_axis)
    if module.pooling == "max":
        kept = graph.add("Where", mask, states, graph.constant("lowest", np.array(_LOWEST)))
        return graph.add("ReduceMax", kept, axis, keepdims=0)
    if module.attention is not None:
        scores = graph.add("Where", mask, _scores(graph, states, module.attention), graph.constant("lowest", np.array(_LOWEST)))
        return graph.add("ReduceSum", graph.add("Mul", states, graph.add("Softmax", scores, axis=1)), axis, keepdims=0)
    kept = graph.add("Where", mask, states, graph.constant("nothing", np.array(np.float32(0))))
    total = graph.add("ReduceSum", kept, axis, keepdims=0)
    count = graph.add("Cast", graph.add("Unsqueeze", "lengths", axis), to=onnx.TensorProto.FLOAT)
    return graph.add("Div", total, count)


def _scores(graph: _Graph, states: str, attention: AttentionPooling) -> str:
    """What the learned mean weighs by, (batch, longest, 1)."""
    product = graph.add("MatMul", states, graph.constant("project", attention.project.weight.detach().T.numpy()))
    projected = graph.add("Tanh", graph.add("Add", product, graph.constant("project_bias", attention.project.bias.detach().numpy())))
    return graph.add("MatMul", projected, graph.constant("query", attention.query.weight.detach().T.numpy()))
