"""Which nouns go together: why a combination is refused before anything starts, in one sentence."""

from typing import TYPE_CHECKING

from bakeoff.identity import identity
from bakeoff.kinds import BiLstm, BudgetZero, Frozen, Majority, Neural, Predictions, Pretrained, Scratch, Tfidf, ZeroShot

if TYPE_CHECKING:
    from bakeoff.spec import Run

_WITHOUT_WEIGHTS = {"pooling", "precision"}
"""Fields of an architecture that leave an encoder's weights as they are."""
_WHOLE = ("windows", "extended")
"""Readings that carry a model past its own window."""


def refusal(run: "Run") -> str | None:
    """Why these nouns do not go together; null when they do."""
    return _labels(run) or _pair(run) or _reading(run) or _timing(run) or _pretraining(run) or _needs(run) or _unlabelled(run)


def _labels(run: "Run") -> str | None:
    model, labels = run.model, run.budget.labels
    if run.probe.kind != "quality":
        return None
    if isinstance(model, BudgetZero) and labels != 0:
        return f"budget.labels={labels} means nothing to {model.name}, which reads no label: set budget.labels=0"
    if labels == 0 and not isinstance(model, BudgetZero | Predictions):
        return f"budget.labels=0 leaves {model.name} nothing to learn from: give it labels, or choose model=zero_shot"
    if run.is_trial and isinstance(model, BudgetZero | Predictions):
        return f"probe.scores=validation means nothing to {model.name}, which learns from no label: set probe.scores=test"
    return None


def _pair(run: "Run") -> str | None:
    if run.dataset.text_pair is not None and run.longdoc.strategy not in ("full", "head"):
        return (
            f"longdoc={run.longdoc.strategy} is for documents of one text, but dataset.text_pair={run.dataset.text_pair} asks about pairs: "
            "set longdoc=head or longdoc=full"
        )
    if run.dataset.text_pair is not None and isinstance(run.model, ZeroShot) and run.model.method == "entailment":
        return (
            f"dataset.text_pair={run.dataset.text_pair} leaves {run.model.name} no place for its classes, which it reads as the pair of a "
            "text: set model.method=similarity"
        )
    return None


def _reading(run: "Run") -> str | None:
    model, longdoc = run.model, run.longdoc
    if longdoc.strategy not in _WHOLE:
        return None
    if isinstance(model, Majority | Tfidf):
        return f"longdoc={longdoc.strategy} means nothing to {model.name}, which has no window to read past: set longdoc=full"
    if isinstance(model, Predictions):
        return f"longdoc={longdoc.strategy} means nothing to {model.name}, whose answers stand in a file: set longdoc=full"
    if isinstance(model, BudgetZero):
        return f"longdoc={longdoc.strategy} is not for {model.name}, which answers in one go and as it is: set longdoc=head, or another cut"
    if longdoc.strategy == "extended" and not isinstance(model, Pretrained | Frozen):
        return f"longdoc=extended carries a pretrained encoder past its positions, which {model.name} is not: use longdoc=windows"
    if isinstance(model, Frozen) and longdoc.pool not in (None, "mean_embeddings", "max_embeddings"):
        return (
            f"longdoc.pool={longdoc.pool} pools what a head that learns by steps makes of windows, but {model.name} fits its head to "
            "features: set longdoc.pool=mean_embeddings or longdoc.pool=max_embeddings"
        )
    return None


def _timing(run: "Run") -> str | None:
    engine = getattr(run.probe, "engine", "eager")
    if run.longdoc.strategy == "windows" and engine != "eager":
        return f"probe.engine={engine} does not take documents apart, as longdoc=windows does: set probe.engine=eager"
    if run.probe.kind == "latency" and isinstance(run.model, Predictions):
        return f"probe=latency means nothing to {run.model.name}, whose answers stand in a file: put what they took into its milliseconds"
    return None


def _pretraining(run: "Run") -> str | None:
    if run.probe.kind != "pretrain":
        return None
    model = run.model
    if not isinstance(model, Scratch | Pretrained):
        return f"probe=pretrain means nothing to {model.name}: hidden tokens are guessed by transformers (model=scratch or pretrained)"
    if isinstance(model, Scratch) and model.causal:
        return f"probe=pretrain hides tokens and reads around them, but {model.name} is causal: set model.causal=false"
    if run.longdoc.strategy in (*_WHOLE, "select", "head_tail"):
        return f"probe=pretrain hides tokens of a running text, which longdoc={run.longdoc.strategy} does not leave whole: set longdoc=head"
    if run.budget.labels == 0 and run.budget.unlabelled == "none":
        return f"budget.labels=0 leaves {model.name} no text to read with probe=pretrain: set budget.unlabelled=pool"
    if run.needs:
        return f"probe=pretrain is where others start, so {model.name} takes neither model.teacher nor model.start with it"
    return None


def _needs(run: "Run") -> str | None:
    for name, needed in run.needs.items():
        if not isinstance(run.model, Neural):
            return f"model.{name}={needed.model.name} means nothing to {run.model.name}, which is not trained by steps"
        if needed.needs:
            return f"model.{name}={needed.model.name} is itself built from another model: only one level is allowed"
        if needed.dataset.family != run.dataset.family or needed.dataset.fingerprint != run.dataset.fingerprint:
            return f"model.{name}={needed.model.name} was made on {needed.dataset.name}, not on {run.dataset.name}"
    refused = None if run.teacher is None else _teacher(run, run.teacher)
    return refused or (None if run.start is None else _start(run, run.start))


def _teacher(run: "Run", teacher: "Run") -> str | None:
    """A teacher answers every text of the student's, and some students take over its layers."""
    named, model = f"model.teacher={teacher.model.name}", run.model
    if teacher.probe.kind != "quality":
        return f"{named} should be a Run with probe=quality"
    if not isinstance(teacher.model, Neural):
        return (
            f"{named} cannot teach, since it keeps no validation rows back, by which the student's best step is chosen: name a model "
            "that is trained by steps, such as model.teacher=pretrained"
        )
    how = getattr(model, "distillation", None)
    if how is None:
        return f"{named} needs model.distillation, which says how it teaches: model=distilled_bilstm has an example"
    if how.hidden_weight and "windows" in (run.longdoc.strategy, teacher.longdoc.strategy):
        return (
            f"model.distillation.hidden_weight={how.hidden_weight:g} compares layers token by token, which longdoc=windows reads apart: "
            "set it to 0"
        )
    if refused := _carried(run, teacher, "teacher"):
        return refused
    one = isinstance(model, Pretrained) and getattr(teacher.model, "checkpoint_fingerprint", None) == model.checkpoint_fingerprint
    if not (isinstance(model, Pretrained) and isinstance(teacher.model, Pretrained) and one):
        if how.hidden_weight:
            return (
                f"model.distillation.hidden_weight={how.hidden_weight:g} compares layers, which takes a pretrained student and teacher "
                "of one checkpoint: set it to 0"
            )
    elif teacher.model.keep_layers is not None and not set(model.keep_layers or (-1,)) <= set(teacher.model.keep_layers):
        kept = "all layers" if model.keep_layers is None else f"layers {list(model.keep_layers)}"
        return f"model.keep_layers asks for {kept}, but {named} keeps {list(teacher.model.keep_layers)}: keep some of these"
    if run.budget.unlabelled != "none" and 0 < getattr(model, "head_first_epochs", 0) >= how.transfer_epochs:
        return (
            f"model.head_first_epochs={model.head_first_epochs} should be below "  # type: ignore[union-attr]
            f"model.distillation.transfer_epochs={how.transfer_epochs}"
        )
    return None


def _carried(run: "Run", needed: "Run", part: str) -> str | None:
    """An encoder that is carried past its positions hands its weights to one that is carried as far, and to no other."""
    theirs, ours = (getattr(each.model, "checkpoint_fingerprint", None) for each in (needed, run))
    apart = "extended" in (run.longdoc.strategy, needed.longdoc.strategy) and run.longdoc != needed.longdoc
    if not apart or theirs != ours or not isinstance(run.model, Pretrained) or not isinstance(needed.model, Pretrained):
        return None
    return (
        f"model.{part}={needed.model.name} reads {needed.longdoc.label} and {run.model.name} reads {run.longdoc.label}, which gives them "
        f"other positions: leave model.{part} out, or read both with longdoc=windows"
    )


def _start(run: "Run", start: "Run") -> str | None:
    """A start hands over its weights, so all that gives them their shape must be alike."""
    if start.probe.kind != "pretrain":
        return f"model.start={start.model.name} should be a Run with probe=pretrain"
    if refused := _carried(run, start, "start"):
        return refused
    theirs, ours = (identity(each.model, part="architecture") for each in (start, run))
    for name in sorted((theirs.keys() | ours.keys()) - _WITHOUT_WEIGHTS):
        if theirs.get(name) != ours.get(name):
            return (
                f"model.start={start.model.name} has model.{name}={theirs.get(name)}, but {run.model.name} has {ours.get(name)}: "
                "give both the same"
            )
    return None


def _unlabelled(run: "Run") -> str | None:
    model, unlabelled = run.model, run.budget.unlabelled
    if unlabelled == "file" and run.dataset.text_pair is not None:
        return (
            f"budget.unlabelled=file holds single texts, but dataset.text_pair={run.dataset.text_pair} asks about pairs: use pool or none"
        )
    if unlabelled == "none" or run.probe.kind == "pretrain" or run.teacher is not None:
        return None
    if run.start is not None:
        return f"budget.unlabelled={unlabelled} means nothing to {model.name}, which has its words from model.start={run.start.model.name}"
    if isinstance(model, Tfidf) or (isinstance(model, BiLstm | Scratch) and model.vocabulary == "words"):
        return None
    return f"budget.unlabelled={unlabelled} means nothing to {model.name}, which reads labelled texts only"
