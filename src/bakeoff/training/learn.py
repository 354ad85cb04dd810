"""From labels to predictions: one function for every kind of Model."""

from collections.abc import Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Literal, assert_never

import threadpoolctl

from bakeoff.data.budget import Spent
from bakeoff.data.dataset import Prepared
from bakeoff.data.tokens import Document
from bakeoff.spec import BudgetZero, Frozen, Majority, Neural, Predictions, Pretrain, Pretrained, Run, Scratch, Tfidf
from bakeoff.training import fit as fitting
from bakeoff.training.budget_zero import learn_budget_zero, learn_predictions
from bakeoff.training.callbacks import Log
from bakeoff.training.closed_form import learn_closed_form
from bakeoff.training.frozen import learn_frozen
from bakeoff.training.learned import Learned
from bakeoff.training.mlm import learn_pretraining
from bakeoff.training.neural import learn_neural

_NOTHING: Mapping[str, Path] = MappingProxyType({})


def learn(
    run: Run,
    prepared: Prepared,
    spent: Spent,
    *,
    device: Literal["cpu", "cuda"],
    devices: int = 1,
    log: Log,
    unlabelled: Sequence[Document] = (),
    needs: Mapping[str, Path] = _NOTHING,
) -> Learned:
    """Fit the Run's model on the budget's rows and predict test and validation rows; or pretrain it, and predict nothing.

    `unlabelled` is what `data.unlabelled.read` gives for the budget. `needs` holds, by their part, the folders of the saved
    models that `run.needs` asks for. Models that are trained by steps are trained on `devices` of the kind at once.
    """
    fitting.seed_everything(run.seed, run.probe.threads)
    with threadpoolctl.threadpool_limits(run.probe.threads):
        if isinstance(run.probe, Pretrain):
            assert isinstance(run.model, Scratch | Pretrained), "spec refuses the others"
            return learn_pretraining(run, run.model, prepared, spent, unlabelled, device=device, devices=devices, log=log)
        if isinstance(run.model, Majority | Tfidf):
            return learn_closed_form(run, run.model, prepared, spent, unlabelled)
        if isinstance(run.model, Frozen):
            return learn_frozen(run, run.model, prepared, spent, device=device)
        if isinstance(run.model, Neural):
            return learn_neural(run, run.model, prepared, spent, unlabelled, device=device, devices=devices, log=log, needs=needs)
        if isinstance(run.model, BudgetZero):
            return learn_budget_zero(run, run.model, prepared, device=device)
        if isinstance(run.model, Predictions):
            return learn_predictions(run, run.model, prepared)
        assert_never(run.model)
