"""Fine-tuning the starter checkpoint and predicting with it: bakeoff, Hugging Face's Trainer, and the same loop written bare.

One job, each time in a fresh process: load the checkpoint, tokenise, fine-tune on 1,000 `movie` texts for 4 epochs in batches
of 16, predict 2,000 texts; documents are cut at 256 tokens. Importing packages is left out. The Trainer has its defaults;
bakeoff goes through `learn`, with the starter recipe and no validation rows; the bare loop is bakeoff's own without Lightning
and without what is watched, and has to give the same answers.

    pip install accelerate        # which the Trainer needs
    python benchmarks/hf_trainer.py [--texts 1000] [--predictions 2000] [--epochs 4] [--threads 2] [--rounds 1]
"""

import argparse
import dataclasses
import importlib.util
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import torch

from bakeoff.config import Composer
from bakeoff.data import budget, checkpoint, dataset, longdoc
from bakeoff.data.batches import Batch, Documents, prediction_loader, training_loader
from bakeoff.data.budget import Spent
from bakeoff.data.dataset import Prepared
from bakeoff.data.tokens import CheckpointTokeniser
from bakeoff.models.pretrained import PretrainedClassifier
from bakeoff.spec import LongDoc, Pretrained, Run
from bakeoff.training import optim
from bakeoff.training.fit import PREDICTION_BATCH, seed_everything
from bakeoff.training.learn import learn

CUT = LongDoc(strategy="head", max_tokens=256)


@dataclasses.dataclass(frozen=True)
class Job:
    """What every contender is given."""

    run: Run
    prepared: Prepared
    spent: Spent

    @property
    def model(self) -> Pretrained:
        """The encoder and its recipe."""
        assert isinstance(self.run.model, Pretrained)
        return self.run.model


def job(asked: argparse.Namespace, *, precision: str) -> Job:
    """The rows of the starter dataset, and the recipe without a lower limit of steps."""
    overrides = ["model=pretrained", f"model.precision={precision}", f"model.training.epochs={asked.epochs}", "model.training.min_steps=0"]
    run = Composer().job([*overrides, f"budget.labels={asked.texts}", f"probe.threads={asked.threads}"]).run
    run = dataclasses.replace(run, longdoc=CUT)
    prepared = dataset.prepare(run.dataset)
    prepared = dataclasses.replace(
        prepared,
        test=prepared.test.take(np.arange(asked.predictions)),
        contaminated=prepared.contaminated[: asked.predictions],
    )
    return Job(run=run, prepared=prepared, spent=budget.spend(prepared.pool, run.budget, validation=False))


def ours(given: Job) -> np.ndarray:
    """Probabilities (texts, classes) by bakeoff."""
    answers = learn(given.run, given.prepared, given.spent, device="cpu", log=lambda step, metrics: None).test
    assert answers is not None
    return answers


def bare(given: Job) -> np.ndarray:
    """What bakeoff does, as one would write it for this one job."""
    seed_everything(given.run.seed, given.run.probe.threads)
    folder, recipe = checkpoint.resolve(given.model.checkpoint, None), given.model.training
    tokeniser = CheckpointTokeniser(folder)
    classifier = PretrainedClassifier(given.model, folder=folder, n_classes=len(given.prepared.classes))
    rows = given.prepared.pool.take(given.spent.fit)
    documents, asked = (
        Documents(longdoc.read(each.documents, tokeniser, CUT).ids, each.labels, tokeniser.pad_id) for each in (rows, given.prepared.test)
    )
    loader = training_loader(documents, batch_size=recipe.batch_size, seed=given.run.seed)
    total = recipe.epochs * len(loader)
    adam = optim.optimiser(classifier, recipe)
    scheduler = torch.optim.lr_scheduler.LambdaLR(adam, optim.schedule(recipe, total))
    parameters = [p for group in adam.param_groups for p in group["params"]]
    autocast = torch.autocast("cpu", dtype=torch.bfloat16, enabled=given.model.precision == "bfloat16")
    classifier.train()
    for _ in range(recipe.epochs):
        batch: Batch
        for batch in loader:
            with autocast:
                loss = torch.nn.functional.cross_entropy(classifier(batch.ids, batch.lengths), batch.labels)
            adam.zero_grad()
            loss.backward()  # type: ignore[no-untyped-call]
            torch.nn.utils.clip_grad_norm_(parameters, recipe.clip_norm)
            adam.step()
            scheduler.step()
    classifier.eval()
    answers = np.zeros((len(asked), len(given.prepared.classes)), dtype=np.float32)
    for batch in prediction_loader(asked, batch_size=PREDICTION_BATCH):
        with torch.inference_mode(), autocast:
            answers[batch.rows.numpy()] = classifier(batch.ids, batch.lengths).float().softmax(dim=-1).numpy()
    return answers


def trainer(given: Job) -> np.ndarray:
    """Probabilities by Hugging Face's Trainer with its defaults, but for what is asked and for reports."""
    from datasets import Dataset
    from transformers import AutoModelForSequenceClassification, AutoTokenizer, DataCollatorWithPadding, Trainer, TrainingArguments
    from transformers.utils import logging

    logging.set_verbosity_error()
    folder = checkpoint.resolve(given.model.checkpoint, None)
    tokeniser = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder, num_labels=len(given.prepared.classes), dtype=torch.float32)
    rows = given.prepared.pool.take(given.spent.fit)

    def tokenised(texts: Sequence[str], labels: np.ndarray) -> Any:
        encoded = tokeniser(list(texts), truncation=True, max_length=CUT.max_tokens, padding=False)
        return Dataset.from_dict({**encoded, "label": labels})

    with tempfile.TemporaryDirectory() as to:
        arguments = TrainingArguments(
            output_dir=to,
            num_train_epochs=given.model.training.epochs,
            per_device_train_batch_size=given.model.training.batch_size,
            bf16=given.model.precision == "bfloat16",
            use_cpu=True,
            report_to="none",
            save_strategy="no",
            disable_tqdm=True,
        )
        hugging = Trainer(
            model=model,
            args=arguments,
            train_dataset=tokenised(rows.texts, rows.labels),
            data_collator=DataCollatorWithPadding(tokeniser),
        )
        hugging.train()
        logits = hugging.predict(tokenised(given.prepared.test.texts, given.prepared.test.labels)).predictions
    return torch.from_numpy(logits).float().softmax(dim=-1).numpy()


CONTENDERS: dict[str, tuple[Callable[[Job], np.ndarray], str]] = {
    "Trainer": (trainer, "float32"),
    "bakeoff": (ours, "float32"),
    "bare loop": (bare, "float32"),
    "Trainer, bf16": (trainer, "bfloat16"),
    "bakeoff, bfloat16": (ours, "bfloat16"),
    "bare loop, bfloat16": (bare, "bfloat16"),
}
RATIOS = (
    ("bakeoff", "Trainer", "at most 0.40 is asked, a third hoped for"),
    ("bakeoff, bfloat16", "Trainer, bf16", "at most 0.60 is asked, a half hoped for"),
    ("bakeoff", "bare loop", "at most 1.03 is asked"),
    ("bakeoff, bfloat16", "bare loop, bfloat16", ""),
    ("bakeoff, bfloat16", "bakeoff", ""),
)


def answer(name: str, asked: argparse.Namespace) -> None:
    """Do the job in this process and print what it took as one line of JSON."""
    work, precision = CONTENDERS[name]
    torch.set_num_threads(asked.threads)
    # A cache of tokens would spare us what the others do.
    CheckpointTokeniser.encode = CheckpointTokeniser.encode_now  # type: ignore[method-assign]
    given = job(asked, precision=precision)
    importlib.import_module("transformers.trainer") if work is trainer else importlib.import_module("pytorch_lightning")
    started = time.perf_counter()
    answers = work(given)
    seconds = time.perf_counter() - started
    right = float((answers.argmax(axis=1) == given.prepared.test.labels).mean())
    print(json.dumps({"seconds": seconds, "right": right, "first": answers[:64, 0].tolist()}))


def main() -> None:
    """Print seconds and accuracy of each contender, then the ratios."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    for key, default in (("texts", 1000), ("predictions", 2000), ("epochs", 4), ("threads", 2), ("rounds", 1)):
        parser.add_argument(f"--{key}", type=int, default=default)
    parser.add_argument("--only", choices=CONTENDERS, help="do one contender's job in this process")
    asked = parser.parse_args()
    if asked.only:
        answer(asked.only, asked)
        return
    if importlib.util.find_spec("accelerate") is None:
        sys.exit("Hugging Face's Trainer needs the package accelerate, which is not installed: pip install accelerate")
    taken: dict[str, list[dict[str, Any]]] = {name: [] for name in CONTENDERS}
    threads = {key: str(asked.threads) for key in ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "RAYON_NUM_THREADS")}
    for number in range(asked.rounds):
        names = list(CONTENDERS)
        for name in names[number % len(names) :] + names[: number % len(names)]:
            command = [sys.executable, str(Path(__file__)), *sys.argv[1:], "--only", name]
            done = subprocess.run(command, env=os.environ | threads, stdout=subprocess.PIPE, text=True, check=True)
            taken[name].append(json.loads(done.stdout.splitlines()[-1]))
            last = taken[name][-1]
            print(f"{name:<20} {last['seconds']:7.1f} s, {last['right']:.1%} of {asked.predictions:,} right", flush=True)
    seconds = {name: statistics.median(each["seconds"] for each in found) for name, found in taken.items()}
    for above, below, target in RATIOS:
        print(f"{above} / {below}: {seconds[above] / seconds[below]:.3f}{f' ({target})' if target else ''}")
    for suffix in ("", ", bfloat16"):
        ours_first, bare_first = (np.asarray(taken[f"{name}{suffix}"][0]["first"]) for name in ("bakeoff", "bare loop"))
        print(f"answers of bakeoff{suffix} and of the bare loop differ by at most {np.abs(ours_first - bare_first).max():.1g}")


if __name__ == "__main__":
    main()
