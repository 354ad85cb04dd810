"""Distilled once more: three layers of the starter's encoder, taught by its six, against these six.

Varied: six or three layers of the starter's encoder, itself a distilled one; the three are every second of the six and learn from what
the fine-tuned six answer to the labelled texts and to the pool's texts without a label. Measured: accuracy lost with 1,000 labels, paired
over draws and rows, and the ratio of the times to answer, in turns.
"""

from bakeoff.claims import latencies, phrases, rules, scores
from bakeoff.claims.claim import Answer, Bench, Claim, NotMeasured
from bakeoff.claims.rules import Part

SWEEP, TIMED = "distilled_again", "distilled_again_latency"
SIX, THREE = "pretrained", "distilled"


def measure(bench: Bench) -> Answer:
    """Judged: the points lost, which are the figure, and the ratio of the times. Both forms are alike."""
    found = scores.scored(bench.bake(SWEEP), by=lambda run: run.model.name)
    timed = {one.record.run.model.name: one for one in bench.bake(TIMED)}
    if not {SIX, THREE} <= found.keys() & timed.keys():
        raise NotMeasured(f"six and three layers are not both scored and timed: bake sweeps/claims/{SWEEP}.yaml and {TIMED}.yaml")
    lost = scores.difference(found[SIX], found[THREE])
    if lost is None:
        raise NotMeasured(f"the two models share no draw of labels: bake all of sweeps/claims/{SWEEP}.yaml")
    loss, faster = rules.in_points(lost), latencies.between(timed[SIX], timed[THREE])
    parts = (
        Part(
            asks="Three layers are within a point of six",
            measured=loss,
            unit="points lost",
            verdict=rules.within_a_point(loss.interval),
        ),
        Part(
            asks="Six layers take 1.4 to 2.2 times as long as three",
            measured=faster.measured,
            unit="×",
            verdict=latencies.quiet(rules.sixty_percent_faster(faster.interval), timed.values()),
        ),
    )
    decides = rules.deciding(parts)
    return Answer(
        verdict=decides.verdict,
        figure=decides.measured.figure,
        unit=decides.unit,
        interval=decides.measured.interval,
        seen=f"Against the six layers that taught it, an encoder of three {phrases.loses(loss.figure)} ({phrases.span(loss.interval)}) and "
        f"answers {faster.figure:.2f} times ({faster.interval.low:.2f} to {faster.interval.high:.2f}) as fast.",
        dataset=found[SIX].run.dataset.name,
        rows=tuple(
            {
                "layers": layers,
                "accuracy": found[name].accuracy.mean,
                "low": found[name].accuracy.low,
                "high": found[name].accuracy.high,
                "draws": len(found[name].baked),
                "p50_ms": latencies.facts_of(timed[name]).p50_ms,
                "samples": latencies.facts_of(timed[name]).n_samples,
            }
            for name, layers in ((SIX, 6), (THREE, 3))
        ),
        run_ids=(*scores.all_run_ids(found), *(one.record.run_id for one in timed.values())),
        detectable=decides.measured.detectable,
        notes=(*(part.told for part in parts), *latencies.notes(timed.values()), *latencies.apart(timed[SIX], timed[THREE])),
    )


CLAIM = Claim(
    name="distilled-again",
    statement="Half the layers of an encoder, taught by all of them, are 60% faster and within one point.",
    kind="learning",
    rule="Holds if the upper bound of the points that three layers of the starter's encoder lose to its six is at most 1.0, and six take "
    "1.4 to 2.2 times as long as three (the whole interval).",
    seconds={"small": 1500, "full": 1500},
    shared_seconds={"labels-1000": {"small": 200, "full": 1000}},
    measure=measure,
    sweeps=(SWEEP, TIMED),
)
