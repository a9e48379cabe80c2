"""Our protocol beside the official SDK's kernel, over the same providers: thousands of requests, each difference
explained or a failure."""

import json
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field, replace

import pytest

from signpost.model import Call, Principal
from signpost.wiring.endpoints import build_gateway_surface
from stage.samples import TENANT
from tests.differential.differences import DIFFERENCES, classify
from tests.differential.generated_requests import MODERN, every_method_with_every_header, generate_requests
from tests.differential.kernel import Kernel
from tests.differential.outcome import Outcome, Sent, outcome_of
from tests.support.fixture_provider import add_fixtures
from tests.support.line_output import ShowLine
from tests.support.memory_gateway import MemoryGateway
from tests.support.silent_logs import silence_logs

FEWEST_REQUESTS = 4_000
MOST_CLASSES = 15
SHOWN = 5


@dataclass
class Comparison:
    requests: Counter[str] = field(default_factory=Counter[str])
    """By era."""
    counts: Counter[str] = field(default_factory=Counter[str])
    """By class of difference."""
    unexplained: list[str] = field(default_factory=list[str])

    def add(self, sent: Sent, ours: Outcome, theirs: Outcome) -> None:
        self.requests["modern" if sent.version == MODERN else "older"] += 1
        if ours == theirs:
            return
        difference = classify(sent, ours, theirs)
        if difference is None:
            self.unexplained.append(f"{json.dumps(sent.document)}\n  {sent.headers}\n  ours: {ours}\n  SDK:  {theirs}")
        else:
            self.counts[difference.__name__] += 1

    def table(self) -> str:
        total, different = self.requests.total(), self.counts.total() + len(self.unexplained)
        eras = ", ".join(f"{count} {era}" for era, count in sorted(self.requests.items()))
        lines = [f"{count:6} {name}" for name, count in self.counts.most_common()]
        return "\n".join([f"SDK kernel: {total} requests ({eras}), {different} answered differently", *lines, ""])


def compare(sent: Iterable[Sent], *, without_prompts: bool = False) -> Comparison:
    comparison = Comparison()
    with silence_logs():
        gateway = MemoryGateway()
        surface = add_fixtures(build_gateway_surface(gateway.composition))
        gateway.serve_surface(replace(surface, prompts=()) if without_prompts else surface)
        authorization = {"authorization": f"Bearer {gateway.make_key(TENANT)}"}
        with Kernel(surface, Call(Principal("somebody", TENANT, "test"), "request-1", gateway.clock.now())) as kernel:
            for each in sent:
                answer = gateway.send(body=json.dumps(each.document), headers={**each.headers, **authorization})
                comparison.add(each, outcome_of(answer), kernel.answer(each))
    return comparison


@pytest.fixture(scope="module")
def comparison_of_all_requests() -> Comparison:
    return compare(generate_requests())


def test_every_difference_from_the_sdk_has_a_reason(
    comparison_of_all_requests: Comparison, show_line: ShowLine
) -> None:
    show_line(comparison_of_all_requests.table())
    assert not comparison_of_all_requests.unexplained, "\n".join(
        [f"{len(comparison_of_all_requests.unexplained)}, of which:", *comparison_of_all_requests.unexplained[:SHOWN]]
    )


def test_every_listed_difference_still_occurs(comparison_of_all_requests: Comparison) -> None:
    stale = [
        difference.__name__ for difference in DIFFERENCES if not comparison_of_all_requests.counts[difference.__name__]
    ]
    assert not stale, "these never occur any more: remove them"


def test_the_listed_differences_are_few_and_documented() -> None:
    assert len(DIFFERENCES) <= MOST_CLASSES
    assert all(difference.__doc__ for difference in DIFFERENCES)


@pytest.mark.parametrize("era", ["modern", "older"])
def test_modern_and_legacy_requests_are_compared(comparison_of_all_requests: Comparison, era: str) -> None:
    assert comparison_of_all_requests.requests.total() >= FEWEST_REQUESTS
    assert comparison_of_all_requests.requests[era] >= FEWEST_REQUESTS / 3


def test_a_gateway_without_prompts_differs_from_the_kernel() -> None:
    unexplained = compare(every_method_with_every_header(), without_prompts=True).unexplained
    assert unexplained
    assert all('"method": "prompts/' in each for each in unexplained)
