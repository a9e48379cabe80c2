"""What a deployment costs: python -m bench.cost. Prices times use; nothing is asked of AWS."""

from collections import Counter
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from local.emulator import PROJECT
from local.intrinsics import parse_template, section
from signpost.model import Json, as_object

PRICES_OF = "us-east-1, list prices as of November 2024, still quoted in November 2026; without the free tier"
PRICES: Mapping[str, float] = {
    "HTTP API, a million requests": 1.00,
    "Lambda, a million requests": 0.20,
    "Lambda arm64, a GB-second": 0.0000133334,
    "DynamoDB on demand, a million read units": 0.125,
    "Secrets Manager, a secret a month": 0.40,
    "CloudWatch, a GB of logs": 0.50,
    "CloudWatch, an alarm a month": 0.10,
    "SQS, a million requests": 0.40,
}
SWEEPS = 12 * 24 * 30
"""A month."""
SWEEP_SECONDS = 0.5
"""Assumed, where there is little to look at."""
LOOKS = 60 * 24 * 30
"""A month: what is due of workflows."""
LOOK_SECONDS, LOOK_UNITS = 0.1, 8 * 0.5
"""Assumed; and half a unit for each shard in which nothing is due."""
QUEUES = 3
POLLS = 5 * 3 * 60 * 24 * 30
"""A month: Lambda looks into a queue with five connections, each three times a minute."""
MILLION = 1e6
GIGABYTE = 1e9


@dataclass(frozen=True, slots=True)
class Use:
    """Of one warm call. What is not measured is assumed, and says so."""

    memory_gb: float = 1.0
    """The template's default."""
    billed_seconds: float = 0.010
    """Assumed: a millisecond or less of ours (`make bench`) and a DynamoDB read across a data centre."""
    reads: float = 5.0
    """At most: a key, or the five rows of a look at what has changed; neither is looked at again within two seconds."""
    log_bytes: float = 1_600
    """A log line, a metric line, Lambda's own three and an access log line."""


def per_thousand(use: Use) -> Mapping[str, float]:
    return {
        "HTTP API": 1000 * PRICES["HTTP API, a million requests"] / MILLION,
        "Lambda requests": 1000 * PRICES["Lambda, a million requests"] / MILLION,
        "Lambda time": 1000 * use.billed_seconds * use.memory_gb * PRICES["Lambda arm64, a GB-second"],
        "DynamoDB": 1000 * use.reads * PRICES["DynamoDB on demand, a million read units"] / MILLION,
        "Logs": 1000 * use.log_bytes * PRICES["CloudWatch, a GB of logs"] / GIGABYTE,
    }


def idle_month() -> Mapping[str, float]:
    kinds = Counter(str(as_object(resource).get("Type")) for resource in _resources().values())
    time = (SWEEPS * SWEEP_SECONDS + LOOKS * LOOK_SECONDS) * PRICES["Lambda arm64, a GB-second"]
    invocations = (SWEEPS + LOOKS) * PRICES["Lambda, a million requests"] / MILLION
    reads = LOOKS * LOOK_UNITS * PRICES["DynamoDB on demand, a million read units"] / MILLION
    return {
        "Secrets": kinds["AWS::SecretsManager::Secret"] * PRICES["Secrets Manager, a secret a month"],
        "Alarms": kinds["AWS::CloudWatch::Alarm"] * PRICES["CloudWatch, an alarm a month"],
        "Sweeper": time + invocations + reads,
        "Queues that are looked into": QUEUES * POLLS * PRICES["SQS, a million requests"] / MILLION,
    }


def _resources() -> Mapping[str, Json]:
    return section(parse_template((PROJECT / "template.yaml").read_text("utf-8")), "Resources")


def table(title: str, costs: Mapping[str, float]) -> Iterator[str]:
    yield f"{title:<34}{'USD':>10}"
    yield from (f"  {name:<32}{cost:>10.5f}" for name, cost in costs.items())
    yield f"  {'together':<32}{sum(costs.values()):>10.5f}"


def main() -> None:
    print(f"Prices: {PRICES_OF}")
    print(*table("idle, a month", idle_month()), *table("1,000 warm calls", per_thousand(Use())), sep="\n")


if __name__ == "__main__":
    main()
