from pathlib import Path

from bakeoff.config import Composer
from bakeoff.deciding.optimism import random_twin


def test_the_twin_asks_the_same_of_fold_0(tmp_path: Path) -> None:
    (tmp_path / "f.csv").write_text("body,topic,day\nx,a,2024-03-01\ny,b,2024-03-02\n")
    own = ["dataset=csv", f"dataset.path={tmp_path / 'f.csv'}", "dataset.text=body", "dataset.label=topic", "dataset.time=day"]
    asked = [*own, "dataset.split=newest", "+dataset.newest_from=['2024-03-02']", "model=tfidf", "seed=3"]
    twin = random_twin(asked)
    assert twin == (
        *own[:4],
        "model=tfidf",
        "seed=3",
        *("dataset.time=null", "dataset.newest_share=null", "dataset.newest_from=null", "dataset.split=fold", "dataset.fold=0"),
    )
    asked[-3] = asked[-3].removeprefix("+")
    by_time, by_hash = Composer().job(asked).run, Composer().job(twin).run
    plain = Composer().job([*own[:4], "model=tfidf", "seed=3"]).run
    assert (by_time.dataset.split, by_hash.dataset.split, by_hash.dataset.fold) == ("newest", "fold", 0)
    assert by_hash.run_id == plain.run_id != by_time.run_id
