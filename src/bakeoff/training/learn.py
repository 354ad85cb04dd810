"""From labels to predictions: one function for every kind of Model."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Literal

import threadpoolctl

from bakeoff.data.budget import Spent
from bakeoff.data.dataset import Prepared
from bakeoff.spec import Majority, Neural, Run, Tfidf
from bakeoff.training import fit as fitting
from bakeoff.training.callbacks import Log
from bakeoff.training.closed_form import learn_closed_form
from bakeoff.training.learned import Learned
from bakeoff.training.neural import learn_neural

_NOTHING: Mapping[str, Path] = MappingProxyType({})


def learn(
    run: Run, prepared: Prepared, spent: Spent, *, device: Literal["cpu", "cuda"], log: Log, needs: Mapping[str, Path] = _NOTHING
) -> Learned:
    """Fit the Run's model on the budget's rows and predict test and validation rows.

    `needs` holds, by their part, the folders of the saved models that `run.needs` asks for.
    """
    fitting.seed_everything(run.seed, run.probe.threads)
    unlabelled = prepared.pool.take(spent.unlabelled).texts if run.budget.unlabelled == "pool" else ()
    with threadpoolctl.threadpool_limits(run.probe.threads):
        if isinstance(run.model, Majority | Tfidf):
            return learn_closed_form(run, run.model, prepared, spent, unlabelled)
        if isinstance(run.model, Neural):
            return learn_neural(run, run.model, prepared, spent, unlabelled, device=device, log=log, needs=needs)
        raise NotImplementedError(run.model.kind)
