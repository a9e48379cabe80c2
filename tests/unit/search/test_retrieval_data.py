"""What the benchmark of search measures, and that the rankings are as good as they are said to be."""

import json
import lzma
from collections.abc import Mapping
from pathlib import Path

import pytest

from bench.errors import BenchError
from bench.search import DATA, MIN_NDCG, Findings, verdicts
from bench.search_quality import Quality, measure_qualities, ndcg, read_datasets, recall
from bench.search_rankers import OURS
from bench.search_speed import Speed
from bench.table import format_verdict
from local.json_values import JsonObject
from signpost.search import fused

LABELS = {"best": 2, "good": 1, "bad": 0}


def test_the_best_order_has_a_gain_of_one_and_a_worse_one_less() -> None:
    assert ndcg(["best", "good", "bad"], LABELS) == 1
    assert ndcg(["good", "best"], LABELS) == pytest.approx((1 + 2 / 1.584963) / (2 + 1 / 1.584963))
    assert ndcg(["bad", "other"], LABELS) == 0
    assert ndcg([*"0123456789", "best"], LABELS) == 0


def test_recall_is_the_share_of_relevant_items_among_the_first_five() -> None:
    assert recall(["other", "best", "bad"], LABELS) == 0.5
    assert recall([*"01234", "best", "good"], LABELS) == 0


def test_a_folder_may_hold_plain_and_compressed_files(tmp_path: Path) -> None:
    tools = [{"id": name, "name": name, "description": f"Does {name}."} for name in ("walking", "flying")]
    queries: list[JsonObject] = [
        {"id": "q1", "query": "walk", "labels": {"walking": 1}},
        {"id": "q2", "query": "swim", "labels": {}},
        {"id": "q3", "query": "walk on", "labels": {"flying": 1}, "seen": True},
    ]
    text = json.dumps({"tools": tools, "queries": queries}).encode()
    (tmp_path / "one.json").write_bytes(text)
    (tmp_path / "two.json.xz").write_bytes(lzma.compress(text))
    one, two = read_datasets(tmp_path)
    assert (one.name, two.name, one.queries) == ("one", "two", two.queries)
    judged = {(each.data, each.ranker): (each.queries, each.recall) for each in measure_qualities(one, OURS)}
    assert judged["one", "literal"] == (2, 0.5)
    assert judged["one, unseen", "fused"] == (1, 1)


@pytest.mark.parametrize("content", ["", "[]", "{}", '{"tools": [], "queries": []}', '{"tools": [{}], "queries": []}'])
def test_invalid_retrieval_data_is_refused_by_file_name(tmp_path: Path, content: str) -> None:
    (tmp_path / "odd.json").write_text(content)
    with pytest.raises(BenchError, match=r"odd\.json"):
        read_datasets(tmp_path)


def test_a_folder_without_data_is_refused(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match="no file of retrieval data"):
        read_datasets(tmp_path)


def test_a_ranking_worse_than_its_bar_is_missed() -> None:
    poor = Quality("mcpproxy_golden", "fused", queries=47, ndcg=0.68, recall=0.5, ms=0.1)
    (verdict,) = verdicts(Findings([poor], []), slowdown=1.0)
    assert not verdict.is_met
    assert format_verdict(verdict).startswith("MISSED")
    assert "0.68, at least 0.69" in format_verdict(verdict)


@pytest.mark.parametrize(("peer_factor", "is_met"), [(1.0, False), (2.0, True)])
def test_a_ranking_is_judged_by_the_speed_of_the_machine_at_the_time(peer_factor: float, is_met: bool) -> None:
    ours = Speed(10_000, "fused", first_ms=500.0, ms={2: 6.0})
    peer = Speed(10_000, "FastMCP", first_ms=127.0 * peer_factor, ms={2: 3.51 * peer_factor})
    judged = list(verdicts(Findings([], [ours, peer]), slowdown=1.0))
    assert [verdict.is_met for verdict in judged] == [is_met, is_met]


def test_a_ranking_without_a_peer_is_judged_by_the_idle_machine() -> None:
    ours = Speed(10_000, "fused", first_ms=401.0, ms={15: 15.1})
    assert not any(verdict.is_met for verdict in verdicts(Findings([], [ours]), slowdown=1.0))


def golden() -> Mapping[str, float]:
    (dataset,) = (dataset for dataset in read_datasets(DATA) if dataset.name == "mcpproxy_golden")
    return {quality.ranker: quality.ndcg for quality in measure_qualities(dataset, OURS)}


def test_the_fused_ranking_holds_its_bar_on_the_graded_queries() -> None:
    found = golden()
    assert found["fused"] >= MIN_NDCG["mcpproxy_golden"]
    assert found["fused"] > found["literal"]


@pytest.mark.parametrize("part", ["BY_WORDS", "BY_SPELLING", "BY_RULE"])
def test_each_part_of_the_fused_ranking_makes_it_better(part: str, monkeypatch: pytest.MonkeyPatch) -> None:
    whole = golden()["fused"]
    monkeypatch.setattr(fused, part, 0.0)
    assert golden()["fused"] < whole
