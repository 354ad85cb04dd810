"""An encoder sees both sides of a word; a decoder, which must not see the future, sees one.

Varied: the same transformer from random weights, reading both ways, its answer from the mean of all tokens, or causally, its answer from
the last token, which alone has seen the whole text: pooling differs with the direction. Measured: test accuracy with 1,000 labels, paired
over draws and rows.
"""

from bakeoff.claims import rules, scores
from bakeoff.claims.claim import Answer, Bench, Claim, NotMeasured

SWEEP = "encoder_decoder"
ENCODER, DECODER = "scratch", "decoder"


def measure(bench: Bench) -> Answer:
    """Judged: accuracy of the encoder minus that of the decoder. Both forms are alike."""
    found = scores.scored(bench.bake(SWEEP), by=lambda run: run.model.name)
    if missing := [name for name in (ENCODER, DECODER) if name not in found]:
        raise NotMeasured(f"there is no score of {' and '.join(missing)}: bake sweeps/claims/{SWEEP}.yaml")
    difference = scores.difference(found[ENCODER], found[DECODER])
    if difference is None:
        raise NotMeasured(f"encoder and decoder share no draw of labels: bake all of sweeps/claims/{SWEEP}.yaml")
    gain = rules.in_points(difference)
    right = {name: 100 * found[name].accuracy.mean for name in (ENCODER, DECODER)}
    return Answer(
        verdict=rules.above(0.0, gain.interval),
        figure=gain.figure,
        unit="points, encoder minus decoder",
        interval=gain.interval,
        seen=f"The transformer that reads both ways has {right[ENCODER]:.1f}% right, the one that reads forwards {right[DECODER]:.1f}%.",
        dataset=found[ENCODER].run.dataset.name,
        rows=tuple(
            {
                "model": name,
                "accuracy": found[name].accuracy.mean,
                "low": found[name].accuracy.low,
                "high": found[name].accuracy.high,
                "draws": len(found[name].baked),
                "diverged": found[name].diverged,
            }
            for name in (ENCODER, DECODER)
        ),
        run_ids=scores.all_run_ids(found),
        detectable=gain.detectable,
    )


CLAIM = Claim(
    name="encoder-decoder",
    statement="An encoder sees both sides of a word, so it classifies better than a decoder of its size.",
    kind="learning",
    rule="Holds if, with 1,000 labels, the lower bound of the encoder's accuracy minus the decoder's is above 0.",
    seconds={"small": 420, "full": 420},
    shared_seconds={"labels-1000": {"small": 210, "full": 210}},
    measure=measure,
    sweeps=(SWEEP,),
)
