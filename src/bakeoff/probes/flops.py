"""How much arithmetic one document takes, from closed formulas: multiplications and additions of matrix products.

Counted is what the shipped implementations compute for one document alone. Looking up an embedding is no arithmetic, and
biases, norms, activations, softmax and pooling are left out: they grow with one width only, and are a few per cent. A
product of (a, b) and (b, c) matrices is 2·a·b·c operations.
"""

from bakeoff.models.sizes import LONGFORMER_WINDOW
from bakeoff.models.windows import at_once
from bakeoff.spec import BiLstm, EncoderSize, LongDoc, Scratch


def of_bilstm(model: BiLstm, *, tokens: int, n_classes: int) -> float:
    """A token, each way: 4 gates, each a product with the input (e) and the state (h), so 8·h·(e + h) operations.

    At equal widths d that is 16·n·d² one way. A layer above the first reads what the one below gives (e = 2·h, or h where
    it reads forwards only). Attention pooling over states of width w is a product with a (w, w) matrix and one with a
    vector, 2·n·w·(w + 1). The head reads one state, 2·w·classes.
    """
    hidden, ways = model.hidden_dim, 2 if model.directions == "both" else 1
    total, width = 0, model.embedding_dim
    for _ in range(model.layers):
        total += tokens * ways * 8 * hidden * (width + hidden)
        width = ways * hidden
    if model.pooling == "attention":
        total += 2 * tokens * width * (width + 1)
    return float(total + 2 * width * n_classes)


def of_scratch(model: Scratch, *, tokens: int, n_classes: int) -> float:
    """Layers as those of `of_encoder`, and the head; a causal core is counted in full, as the unfused path computes it."""
    n, d = tokens, model.width
    layer = 8 * n * d * d + 4 * n * n * d + 4 * n * d * model.feed_forward
    return float(model.layers * layer + 2 * d * n_classes)


def of_encoder(size: EncoderSize, *, tokens: int, n_classes: int, window: int = LONGFORMER_WINDOW) -> float:
    """A layer over n tokens of width d: projections 8·n·d², attention core, feed-forward; and the head, 2·d·classes.

    Projections are four products (n, d)·(d, d). The core of full attention is QKᵀ and its product with V, over all heads
    2·n²·d each, so 4·n²·d. The feed-forward layer of inner width f is 4·n·d·f (16·n·d² at f = 4·d); ModernBERT's gated one
    has three products, 6·n·d·f. Longformer pads n to whole windows of `window` tokens, and its core is one of blocks and of
    one global token.
    """
    n, d = tokens, size.width
    if size.family == "longformer":
        n = -(-n // window) * window
    core = _blocks(n, d, window) + _global_token(n, d, size.heads) if size.family == "longformer" else 4 * n * n * d
    products = 6 if size.family == "modernbert" else 4
    layer = 8 * n * d * d + core + products * n * d * size.feed_forward
    return float(size.layers * layer + 2 * d * n_classes)


def passes_tokens(tokens: int, longdoc: LongDoc, *, n_special_tokens: int) -> list[int]:
    """How long each pass of the model over a document of `tokens` is, padding and special tokens included: one, or a window each.

    Windows are read in chunks, longest first, so that the last, which may be shorter, is padded unless it has a chunk of its own.
    """
    window, overlap = longdoc.window_tokens, longdoc.overlap_tokens
    if window is None or overlap is None:
        return [tokens]
    room = window - n_special_tokens
    count = 1 + -(-max(tokens - window, 0) // (room - overlap))
    last = tokens - (count - 1) * (room - overlap)
    return [window] * (count - 1) + [last if count % at_once(window) == 1 else window]


def _blocks(n: int, d: int, window: int) -> int:
    """Longformer's sliding core with w tokens each way (Beltagy et al., 2020), as `models.banded` computes it.

    QKᵀ, and weights with V: n/w blocks of w by 3·w, 6·w²·d each.
    """
    w = window // 2
    return n // w * 12 * w * w * d


def _global_token(n: int, d: int, heads: int) -> int:
    """The first token of a Longformer, which attends to all n and is attended by all, as `models.banded` computes it.

    Its query, that onto the weights of its keys, and its values 2·d² each; its scores and sum over the states 2·n·d a head each;
    the scores of the others with it, and its share of what they read, 2·n·d each.
    """
    return 6 * d * d + 4 * n * d * heads + 4 * n * d
