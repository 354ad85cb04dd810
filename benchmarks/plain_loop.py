"""Our fine-tuning against a plain PyTorch loop on the same rows with the same recipe: accuracy and seconds.

The loop below is what a practitioner writes: shuffled batches, AdamW, linear warm-up and decay, clipping, the last
weights. It shares no training code with bakeoff. The accuracy of ours should not be below it by more than a point.

    python benchmarks/plain_loop.py [labels] [seeds]
"""

import sys
import time

import numpy as np
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer, get_linear_schedule_with_warmup

from bakeoff.config import Composer
from bakeoff.data import budget, checkpoint, dataset
from bakeoff.spec import Pretrained
from bakeoff.training.learn import learn


def plain(model_spec: Pretrained, texts: list[str], labels: np.ndarray, test_texts: list[str], seed: int) -> tuple[np.ndarray, float]:
    """Predicted classes of the test texts, and seconds of training."""
    recipe, folder = model_spec.training, checkpoint.resolve(model_spec.checkpoint, model_spec.revision)
    torch.manual_seed(seed)
    tokeniser = AutoTokenizer.from_pretrained(folder)
    model = AutoModelForSequenceClassification.from_pretrained(folder, num_labels=2, dtype=torch.float32)
    decayed = [p for n, p in model.named_parameters() if "bias" not in n and "LayerNorm" not in n]
    free = [p for n, p in model.named_parameters() if "bias" in n or "LayerNorm" in n]
    groups = [{"params": decayed, "weight_decay": recipe.weight_decay}, {"params": free, "weight_decay": 0.0}]
    optimiser = torch.optim.AdamW(groups, lr=recipe.learning_rate)
    steps_per_epoch = -(-len(texts) // recipe.batch_size)
    epochs = max(recipe.epochs, -(-recipe.min_steps // steps_per_epoch))
    total = epochs * steps_per_epoch
    scheduler = get_linear_schedule_with_warmup(optimiser, int(recipe.warmup_fraction * total), total)
    model.train()
    started = time.perf_counter()
    for _ in range(epochs):
        order = torch.randperm(len(texts)).tolist()
        for start in range(0, len(order), recipe.batch_size):
            rows = order[start : start + recipe.batch_size]
            batch = tokeniser([texts[i] for i in rows], padding=True, truncation=True, max_length=256, return_tensors="pt")
            loss = model(**batch, labels=torch.tensor(labels[rows])).loss
            loss.backward()
            torch.nn.utils.clip_grad_norm_(model.parameters(), recipe.clip_norm)
            optimiser.step()
            scheduler.step()
            optimiser.zero_grad()
    seconds = time.perf_counter() - started
    model.eval()
    predicted = []
    with torch.no_grad():
        for start in range(0, len(test_texts), 64):
            batch = tokeniser(test_texts[start : start + 64], padding=True, truncation=True, max_length=256, return_tensors="pt")
            predicted.append(model(**batch).logits.argmax(dim=1).numpy())
    return np.concatenate(predicted), seconds


def main(labels: int, seeds: int) -> None:
    """Print both accuracies a seed, then the means, their difference and the ratio of the seconds."""
    ours, theirs, ours_seconds, theirs_seconds = [], [], [], []
    for seed in range(seeds):
        run = Composer().job(["model=pretrained", f"budget.labels={labels}", f"seed={seed}"]).run
        assert isinstance(run.model, Pretrained)
        torch.set_num_threads(run.probe.threads)
        prepared = dataset.prepare(run.dataset)
        spent = budget.spend(prepared.pool, run.budget, validation=True)
        learned = learn(run, prepared, spent, device="cpu", log=lambda step, metrics: None)
        rows = prepared.pool.take(spent.fit)  # the same rows: the loop has no use for validation
        predicted, seconds = plain(run.model, list(rows.texts), rows.labels, list(prepared.test.texts), seed)
        ours.append(float((learned.test.argmax(axis=1) == prepared.test.labels).mean()))
        theirs.append(float((predicted == prepared.test.labels).mean()))
        ours_seconds.append(learned.seconds)
        theirs_seconds.append(seconds)
        print(f"seed {seed}: bakeoff {ours[-1]:.2%} in {learned.seconds:.0f} s, plain loop {theirs[-1]:.2%} in {seconds:.0f} s", flush=True)
    difference = 100 * (np.mean(ours) - np.mean(theirs))
    ratio = np.sum(theirs_seconds) / np.sum(ours_seconds)
    print(f"mean: bakeoff {np.mean(ours):.2%}, plain {np.mean(theirs):.2%}; {difference:+.2f} points; seconds plain / ours {ratio:.2f}")


if __name__ == "__main__":
    numbers = [int(text) for text in sys.argv[1:]]
    main(numbers[0] if numbers else 1000, numbers[1] if len(numbers) > 1 else 3)
