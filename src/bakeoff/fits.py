"""Which nouns go together: why a combination is refused before anything starts, in one sentence."""

from typing import TYPE_CHECKING

from bakeoff.identity import identity
from bakeoff.kinds import BiLstm, BudgetZero, Neural, Predictions, Pretrained, Scratch, Tfidf, ZeroShot

if TYPE_CHECKING:
    from bakeoff.spec import Run

_WITHOUT_WEIGHTS = {"pooling", "precision"}
"""Fields of an architecture that leave an encoder's weights as they are."""


def refusal(run: "Run") -> str | None:
    """Why these nouns do not go together; null when they do."""
    return _labels(run) or _pair(run) or _timing(run) or _pretraining(run) or _needs(run) or _unlabelled(run)


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
    if run.dataset.text_pair is not None and isinstance(run.model, ZeroShot) and run.model.method == "entailment":
        return (
            f"dataset.text_pair={run.dataset.text_pair} leaves {run.model.name} no place for its classes, which it reads as the pair of a "
            "text: set model.method=similarity"
        )
    return None


def _timing(run: "Run") -> str | None:
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


def _start(run: "Run", start: "Run") -> str | None:
    """A start hands over its weights, so all that gives them their shape must be alike."""
    if start.probe.kind != "pretrain":
        return f"model.start={start.model.name} should be a Run with probe=pretrain"
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
