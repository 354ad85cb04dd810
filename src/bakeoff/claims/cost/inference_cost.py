"""A few points of accuracy cost about 20 times the inference.

Varied: the encoder, the starter's (MiniLM, 6 layers of 384) and BERT base (12 layers of 768), untrained at true size.
Measured: from raw text to label, one document of the dataset's own lengths at a time on one CPU thread, the median over that of the
BiLSTM with which the encoder took turns.
"""

from collections.abc import Mapping

from bakeoff.claims import latencies, rules
from bakeoff.claims.claim import Answer, Bench, Claim, NotMeasured, Verdict

SWEEP = "encoder_sizes"
ENCODERS = {"pretrained": "MiniLM-sized", "bert_base": "BERT-base-sized"}
TIMES = 20.0


def measure(bench: Bench) -> Answer:
    """Judged: each encoder's ratio; the figure is the ratio that lies furthest from 20."""
    by_name = {one.record.run.model.name: one for one in bench.bake(SWEEP)}
    if missing := [name for name in ENCODERS if name not in by_name]:
        raise NotMeasured(f"there is no time of {', '.join(missing)}: bake sweeps/claims/{SWEEP}.yaml")
    timed = {name: by_name[name] for name in ENCODERS}
    ratios = {name: latencies.over_reference(one) for name, one in timed.items()}
    verdicts = {name: rules.about(TIMES, ratio.interval) for name, ratio in ratios.items()}
    furthest = max(ratios.values(), key=lambda ratio: max(ratio.figure / TIMES, TIMES / ratio.figure))
    said = " and ".join(
        f"{ratios[name].figure:.1f} times ({words}, {latencies.facts_of(timed[name]).p50_ms or 0:.1f} ms)"
        for name, words in ENCODERS.items()
    )
    return Answer(
        verdict=latencies.quiet(rules.all_of(verdicts.values()), timed.values()),
        figure=furthest.figure,
        unit="×",
        interval=furthest.interval,
        seen=f"At the median an encoder takes {said} what the BiLSTM takes{_alone(verdicts)}.",
        dataset=next(iter(timed.values())).record.run.dataset.name,
        rows=tuple(
            {
                "encoder": words,
                "p50_ms": latencies.facts_of(timed[name]).p50_ms,
                "bilstm_p50_ms": latencies.facts_of(timed[name]).reference_p50_ms,
                "times": ratios[name].figure,
                "low": ratios[name].interval.low,
                "high": ratios[name].interval.high,
                "samples": latencies.facts_of(timed[name]).n_samples,
                "verdict": verdicts[name],
            }
            for name, words in ENCODERS.items()
        ),
        run_ids=tuple(one.record.run_id for one in timed.values()),
        detectable=furthest.detectable,
        notes=(
            "This claim is about the time; how many points it buys, labels-1000 measures.",
            *latencies.notes(timed.values()),
        ),
    )


def _alone(verdicts: Mapping[str, Verdict]) -> str:
    """Which of the encoders are about as dear as the statement says, where not all are."""
    about = [ENCODERS[name] for name, verdict in verdicts.items() if verdict == "holds"]
    return f"; {' and '.join(about)} alone is within 10 and 40" if 0 < len(about) < len(verdicts) else ""


CLAIM = Claim(
    name="inference-cost",
    statement="A few points of accuracy cost about 20 times the inference.",
    kind="cost",
    rule="Holds if, for the MiniLM-sized and for the BERT-base-sized encoder, the interval of its median over the BiLSTM's lies within "
    "10 and 40.",
    seconds={"small": 440, "full": 440},
    measure=measure,
    sweeps=(SWEEP,),
)
