from collections.abc import Callable

import numpy as np

from bakeoff.data import audit
from bakeoff.data.dataset import Prepared, Rows

MakeRows = Callable[..., Rows]


def rows(texts: list[str], labels: list[int], clusters: list[int]) -> Rows:
    return Rows(
        row_ids=tuple(f"{i}-{text}" for i, text in enumerate(texts)),
        texts=tuple(texts),
        labels=np.array(labels, dtype=np.int64),
        groups=None,
        clusters=np.array(clusters, dtype=np.int64),
    )


def ugly() -> Prepared:
    """CANARY texts: an empty and a blank one, an exact and a near duplicate, and one text under two labels."""
    pool = rows(
        ["", " \n", "CANARY one", "canary  ONE", "CANARY two"] + [f"CANARY {i}" for i in range(95)],
        [0] * 96 + [1] * 4,
        [0, 0, 1, 1, 1, *range(2, 97)],
    )
    test = rows(["CANARY one", "CANARY test"] + [f"CANARY t{i}" for i in range(10)], [1] * 2 + [0] * 10, [1, *range(97, 108)])
    dropped = rows(["CANARY two!"], [0], [1])
    return Prepared(
        classes=("ham", "spam"),
        pool=pool,
        test=test,
        contaminated=np.array([True] + [False] * 11),
        dropped=dropped,
        primary_metric="macro_f1",
    )


def clean(make_rows: MakeRows) -> Prepared:
    return Prepared(
        classes=("a", "b"),
        pool=make_rows([0, 1] * 10),
        test=rows([f"t{i}" for i in range(20)], [0, 1] * 10, list(range(20, 40))),
        contaminated=np.zeros(20, dtype=bool),
        dropped=rows([], [], []),
        primary_metric="accuracy",
    )


def test_every_finding_is_counted() -> None:
    findings = audit.audit(ugly(), lengths=np.array([3, 9, 10, 11]), max_tokens=9)
    assert {finding.code: finding.count for finding in findings} == {
        "empty_texts": 2,
        "exact_duplicates": 3,  # the blank one, "canary  ONE", and the test row
        "near_duplicates": 2,  # "CANARY two" in the pool and the row left out
        "conflicting_labels": 1,
        "small_class": 1,
        "small_test_class": 1,
        "imbalance": 96,
        "contaminated_test": 1,
        "left_out": 1,
        "truncated": 2,
    }
    messages = {finding.code: finding.message for finding in findings}
    assert messages["empty_texts"] == "2 rows without a text (or with white space only)"
    assert messages["small_class"] == "1 classes (spam with 4) have under 10 rows to learn from"
    assert messages["truncated"] == "2 of 4 documents (50.0%) are longer than 9 tokens"
    assert messages["left_out"] == "1 row left out of the pool as near-duplicates of test rows"
    assert "canary" not in repr(findings).lower()


def test_a_clean_dataset_has_no_findings(make_rows: MakeRows) -> None:
    assert audit.audit(clean(make_rows)) == ()
    assert audit.audit(clean(make_rows), lengths=np.array([3, 4]), max_tokens=4) == ()


def test_percentiles_are_lengths_that_occur() -> None:
    assert audit.length_percentiles(np.arange(1, 201)) == {"p50": 100.0, "p90": 180.0, "p95": 190.0, "p99": 198.0, "max": 200.0}
    assert audit.length_percentiles(np.array([7])) == dict.fromkeys(("p50", "p90", "p95", "p99", "max"), 7.0)
    assert audit.length_percentiles(np.array([])) == {}


def test_the_overview_and_its_rendering(make_rows: MakeRows) -> None:
    found = audit.overview(ugly(), lengths=np.array([3, 9, 10, 11]), max_tokens=9)
    assert [(one.name, one.pool, one.test) for one in found.classes] == [("ham", 96, 10), ("spam", 4, 2)]
    assert (found.n_pool, found.n_test, found.truncated_fraction) == (100, 12, 0.5)
    text = audit.render(found)
    assert text.splitlines()[:4] == [
        "100 rows to train on, 12 to test; metric macro_f1",
        "",
        "class     pool   share     test   share",
        "ham         96   96.0%       10   83.3%",
    ]
    assert "length in tokens: p50 9, p90 11, p95 11, p99 11, max 11\nlonger than 9 tokens: 50.0%\n" in text
    assert "  left_out: 1 row left out" in text
    assert "canary" not in text.lower()
    plain = audit.as_plain(found)
    assert plain["classes"][1] == {"name": "spam", "pool": 4, "test": 2}
    assert plain["findings"][0] == {"code": "empty_texts", "count": 2, "message": "2 rows without a text (or with white space only)"}
    assert audit.render(audit.overview(clean(make_rows))).endswith("\nfindings: none\n")
