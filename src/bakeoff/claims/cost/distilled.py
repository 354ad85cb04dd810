"""A distilled six-layer model is 60% faster than the full-size one, and within one point of it.

Varied: 12 or 6 layers of one width (BERT base and DistilBERT). Measured: the ratio of their median times to answer, untrained at true
size and in turns with each other; and where the hub is reachable, the accuracy that the six layers lose after fine-tuning both.
"""

from bakeoff.claims import latencies, phrases, rules, scores
from bakeoff.claims.claim import Answer, Baked, Bench, Claim, NotMeasured, Verdict
from bakeoff.claims.rules import Measured, Part
from bakeoff.claims.scores import Scored

SIZES, TEACHER, STUDENT = "encoder_sizes", "distilled_bert_base", "distilled_distilbert"
HUB = "the checkpoints google-bert/bert-base-uncased and distilbert/distilbert-base-uncased"
UNTESTED: Verdict = "cannot be tested here"
_WORDS: dict[Verdict, str] = {
    "holds": "within the 1.4 to 2.2 that count as 60% faster",
    "does not hold": "outside the 1.4 to 2.2 that count as 60% faster",
    "inconclusive": "whether that lies within the 1.4 to 2.2 that count as 60% faster is open",
}


def measure(bench: Bench) -> Answer:
    """Judged: the ratio of the times, which is the figure, and the loss of accuracy, which only the full form can test."""
    by_name = {one.record.run.model.name: one for one in bench.bake(SIZES)}
    if not {"bert_base", "distilbert"} <= by_name.keys():
        raise NotMeasured(f"there is no time of both 12 and 6 layers: bake sweeps/claims/{SIZES}.yaml")
    twelve, six = by_name["bert_base"], by_name["distilbert"]
    faster = latencies.between(twelve, six)
    in_time = latencies.quiet(rules.sixty_percent_faster(faster.interval), (twelve, six))
    seen = f"6 layers answer {faster.figure:.2f} times as fast as 12 of the same width"
    notes = (*latencies.notes((twelve, six)), *latencies.apart(twelve, six))
    run_ids = [twelve.record.run_id, six.record.run_id]
    loss, in_accuracy = None, UNTESTED
    try:
        trained = _trained(bench)
        loss = _loss(trained)
    except NotMeasured as reason:
        seen += f" ({_WORDS[in_time]}); what they lose in accuracy cannot be tested here"
        notes += (f"{str(reason)[0].upper()}{str(reason)[1:].rstrip('.')}.",)
    else:
        in_accuracy = rules.within_a_point(loss.interval)
        run_ids += scores.all_run_ids(trained)
        seen += f"; in accuracy the student {phrases.loses(loss.figure)} ({phrases.span(loss.interval)})"
    parts = [Part(asks="12 layers take 1.4 to 2.2 times as long as 6", measured=faster.measured, unit="×", verdict=in_time)]
    if loss is not None:
        parts.append(Part(asks="6 layers are within a point of 12", measured=loss, unit="points lost", verdict=in_accuracy))
    verdict = rules.all_of((in_time, in_accuracy))
    decides = next((part for part in parts if part.verdict == verdict), parts[0])
    return Answer(
        verdict=verdict,
        figure=decides.measured.figure,
        unit=decides.unit,
        interval=decides.measured.interval,
        seen=f"{seen}.",
        dataset=twelve.record.run.dataset.name,
        rows=tuple(_row(one, loss if one is six else None) for one in (twelve, six)),
        run_ids=tuple(run_ids),
        detectable=decides.measured.detectable,
        notes=notes,
    )


def _row(baked: Baked, loss: Measured | None) -> dict[str, str | float | int | None]:
    facts, model = latencies.facts_of(baked), baked.record.run.model
    size = getattr(model, "size", None)
    return {
        "model": model.name,
        "layers": None if size is None else size.layers,
        "width": None if size is None else size.width,
        "p50_ms": facts.p50_ms,
        "samples": facts.n_samples,
        "loss_points": None if loss is None else loss.figure,
    }


def _trained(bench: Bench) -> tuple[Scored, Scored]:
    """Both fine-tuned on 1,000 labels, the twelve layers first. Raises NotMeasured in the small form, and where they are not at hand."""
    if bench.size == "small":
        raise NotMeasured(f"accuracy needs {HUB}, which --size full takes from the hub")
    found = scores.scored((*bench.bake(TEACHER), *bench.bake(STUDENT)), by=lambda run: run.model.name)
    if len(found) < 2:
        raise NotMeasured(f"the accuracy half needs {HUB}: connect to the hub, or put them into its cache")
    return found["bert_base"], found["distilbert"]


def _loss(trained: tuple[Scored, Scored]) -> Measured:
    """Points that six layers lose, paired over rows and draws."""
    lost = scores.difference(*trained)
    if lost is None:
        raise NotMeasured("the two models share no draw of labels: bake both sweeps whole")
    return rules.in_points(lost)


CLAIM = Claim(
    name="distilled",
    statement="A distilled six-layer model is typically 60% faster, and within one point of the full-size version.",
    kind="cost",
    rule="Holds if 12 layers take 1.4 to 2.2 times what 6 layers of the same width take (the whole interval), and the upper "
    "bound of the points lost is at most 1.0. Where the hub's checkpoints cannot be fine-tuned it can fail by the time and cannot hold.",
    seconds={"small": 440, "full": 3600},
    shared_seconds={"inference-cost": {"small": 430, "full": 430}},
    measure=measure,
    sweeps=(SIZES, TEACHER, STUDENT),
)
