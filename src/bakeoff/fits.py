"""Which nouns go together: why a combination is refused before anything starts, in one sentence."""

from typing import TYPE_CHECKING

from bakeoff.kinds import BiLstm, BudgetZero, Neural, Predictions, Pretrained, Scratch, Tfidf

if TYPE_CHECKING:
    from bakeoff.spec import Run


def refusal(run: "Run") -> str | None:
    """Why these nouns do not go together; null when they do."""
    return _labels(run) or _pretraining(run) or _needs(run) or _unlabelled(run)


def _labels(run: "Run") -> str | None:
    model, labels = run.model, run.budget.labels
    if run.probe.kind != "quality":
        return None
    if isinstance(model, BudgetZero) and labels != 0:
        return f"budget.labels={labels} means nothing to {model.name}, which reads no label: set budget.labels=0"
    if labels == 0 and not isinstance(model, BudgetZero | Predictions):
        return f"budget.labels=0 leaves {model.name} nothing to learn from: give it labels, or choose model=zero_shot"
    return None


def _pretraining(run: "Run") -> str | None:
    if run.probe.kind != "pretrain":
        return None
    model = run.model
    if not isinstance(model, Scratch | Pretrained):
        return f"probe=pretrain means nothing to {model.name}: hidden tokens are guessed by transformers (model=scratch or pretrained)"
    if isinstance(model, Scratch) and model.causal:
        return f"probe=pretrain hides tokens and reads around them, but {model.name} is causal: set model.causal=false"
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
    if run.start is not None and run.start.probe.kind != "pretrain":
        return f"model.start={run.start.model.name} should be a Run with probe=pretrain"
    if run.teacher is not None and run.teacher.probe.kind != "quality":
        return f"model.teacher={run.teacher.model.name} should be a Run with probe=quality"
    return None


def _unlabelled(run: "Run") -> str | None:
    model, unlabelled = run.model, run.budget.unlabelled
    if unlabelled == "none" or run.probe.kind == "pretrain" or run.teacher is not None:
        return None
    if isinstance(model, Tfidf) or (isinstance(model, BiLstm | Scratch) and model.vocabulary == "words"):
        return None
    return f"budget.unlabelled={unlabelled} means nothing to {model.name}, which reads labelled texts only"
