"""Ratios and fits against numbers worked by hand, how sessions are told apart, and prices from a file."""

import dataclasses
import math
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

import factories
from bakeoff import spec
from bakeoff.errors import ConfigError
from bakeoff.record import Interval, Record
from bakeoff.report import words
from bakeoff.report.candidates import candidates, served_key
from bakeoff.report.costs import Prices, read_prices
from bakeoff.report.timing import Session, between, fit, sessions
from bakeoff.store import Store


def held(*records: Record) -> list[Session]:
    return sessions(records, candidates(record.run for record in records))


def test_a_session_is_one_dataset_device_thread_count_and_scenario_whatever_the_engine(store: Store) -> None:
    machines = {"eager": "CPU, torch 2.13.0", "onnx": "CPU, torch 2.13.0, onnxruntime 1.27.0"}
    probes = [{"engine": engine, "machine": machine} for engine, machine in machines.items()]
    probes += [{"threads": 2}, {"scenario": "offline"}, {"lengths": "grid"}]
    records = [
        factories.bake_latency(store, factories.make_latency_run(**probe), factories.make_latency_facts(p50_ms=1.0)) for probe in probes
    ]
    found = held(*records)
    assert [(s.probe.threads, s.probe.scenario, len(s.timings), len(s.grids)) for s in found] == [
        (1, "single", 2, 1),
        (1, "offline", 1, 0),
        (2, "single", 1, 0),
    ]
    assert len({session.title for session in found}) == len({session.slug for session in found}) == 3


def test_latency_candidates_are_architectures(store: Store) -> None:
    base = factories.MODELS["bilstm"]
    trained_longer = dataclasses.replace(base, training=dataclasses.replace(factories.TRAINING, epochs=99))
    wider = dataclasses.replace(base, hidden_dim=64)
    runs = [
        factories.make_latency_run(model=model, engine=engine) for model in (base, trained_longer, wider) for engine in ("eager", "onnx")
    ]
    found = candidates(runs)
    assert len({run.run_id for run in runs}) == 4  # the training recipe is no part of an untrained latency
    assert {candidate.name for candidate in found.values()} == {"bilstm · hidden_dim 16", "bilstm · hidden_dim 64"}
    assert {candidate.name for candidate in candidates([*runs[:2], factories.make_run(model=base)]).values()} == {"bilstm"}


def test_a_ratio_by_way_of_the_reference_adds_variances_on_the_log_scale(store: Store) -> None:
    records = [
        factories.bake_latency(
            store,
            factories.make_latency_run(model=model),
            factories.make_latency_facts(p50_ms=ratio, ratio=ratio, ratio_interval=Interval(low=ratio / spread, high=ratio * spread)),
        )
        for model, ratio, spread in (("pretrained", 20.0, math.exp(0.03)), ("bilstm", 2.0, math.exp(0.04)))
    ]
    (session,) = held(*records)
    fast, slow = session.timings
    found = between(slow, fast)
    assert found is not None
    assert (found.value, found.low, found.high) == pytest.approx((10.0, 10 * math.exp(-0.05), 10 * math.exp(0.05)))
    assert between(slow, dataclasses.replace(fast, facts=dataclasses.replace(fast.facts, contended=True))) is None


@given(st.floats(0.2, 2.5), st.floats(1e-4, 1.0))
def test_a_power_law_is_found_again_whatever_short_documents_cost(exponent: float, scale: float) -> None:
    points = [(float(tokens), max(scale * tokens**exponent, 1e9 if tokens < 128 else 0.0)) for tokens in (8, 64, 128, 512, 4096)]
    found = fit(points)
    assert found is not None
    assert (found.exponent, found.scale) == pytest.approx((exponent, scale))
    assert (found.lengths, found.first_tokens, found.last_tokens) == (3, 128, 4096)


def test_two_lengths_are_no_law() -> None:
    assert fit([(64.0, 1.0), (128.0, 2.0), (256.0, 4.0)]) is None


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (None, "–"),
        (0.0, "0"),
        (0.00417, "0.00417"),
        (0.0412, "0.0412"),
        (0.9994, "0.999"),
        (0.9996, "1.00"),
        (9.994, "9.99"),
        (9.996, "10.0"),
        (99.94, "99.9"),
        (99.96, "100"),
        (1234.5, "1,234"),
        (-12.34, "-12.3"),
    ],
)
def test_measured_sizes_have_three_digits(value: float | None, text: str) -> None:
    assert words.three_digits(value) == text


def test_prices_come_from_the_file_that_is_shipped() -> None:
    prices = read_prices(Path(__file__).parents[2] / "conf" / "prices.yaml")
    assert prices.hour(device="cpu", threads=2) == 2 * prices.cpu_core_hour
    assert prices.hour(device="cuda", threads=2) == prices.gpu_hour
    assert isinstance(prices, Prices)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("currency: USD\ncpu_core_hour: 0.05\nnote: x\n", r"^prices\.gpu_hour is missing"),
        ("currency: USD\ncpu_core_hour: cheap\ngpu_hour: 1\nnote: x\n", r"^prices\.cpu_core_hour=cheap should be a number"),
        ("currency: [\n", r"^prices\.yaml is no readable YAML"),
        ("just text\n", r"^prices='just text' should be a group of settings"),
    ],
)
def test_prices_that_cannot_be_read_are_one_sentence(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "prices.yaml").write_text(text)
    with pytest.raises(ConfigError, match=message):
        read_prices(tmp_path / "prices.yaml")


def test_trained_windows_are_no_part_of_what_is_served() -> None:
    def windows(trained: int) -> spec.Run:
        longdoc = spec.LongDoc(
            strategy="windows", max_tokens=None, window_tokens=256, overlap_tokens=64, pool="mean_embeddings", trained_windows=trained
        )
        return dataclasses.replace(factories.make_run(model="frozen"), longdoc=longdoc)

    one, other = windows(32), windows(8)
    assert served_key(one) == served_key(other)
    assert one.run_id != other.run_id  # of a quality Run it is a setting
    untrained, again = (dataclasses.replace(each, probe=factories.make_latency_run(model="frozen").probe) for each in (one, other))
    assert untrained.run_id == again.run_id
