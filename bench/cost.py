"""Estimates the cost of a deployment: python -m bench.cost. Multiplies list prices by usage, without calling AWS."""

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

from bench.step_rows import WrittenRow, measure_step
from local.emulator import PROJECT
from local.intrinsics import parse_template, section
from signpost.model import Json, as_object

PRICES_OF = "us-east-1, list prices as of November 2024, still quoted in November 2026; without the free tier"
PRICES: Mapping[str, float] = {
    "HTTP API, a million requests": 1.00,
    "Lambda, a million requests": 0.20,
    "Lambda arm64, a GB-second": 0.0000133334,
    "DynamoDB on demand, a million read units": 0.125,
    "DynamoDB on demand, a million write units": 0.625,
    "Secrets Manager, a secret a month": 0.40,
    "CloudWatch, a GB of logs": 0.50,
    "CloudWatch, an alarm a month": 0.10,
    "SQS, a million requests": 0.40,
}
SWEEPS = 12 * 24 * 30
"""Sweeps of content a month."""
SWEEP_SECONDS = 0.5
"""Assumed, for a sweep with little to do."""
DUE_SWEEPS = 60 * 24 * 30
"""Sweeps a month for workflow instances that are due."""
DUE_SWEEP_SECONDS, DUE_SWEEP_UNITS = 0.1, 8 * 0.5
"""The seconds are assumed; the read units are half a unit for each shard without a due instance."""
QUEUES = 3
POLLS = 5 * 3 * 60 * 24 * 30
"""Polls of a queue a month. Lambda polls a queue with five connections, each three times a minute."""
MILLION = 1e6
GIGABYTE = 1e9


@dataclass(frozen=True, slots=True)
class CallUsage:
    """The usage of one warm call. Values that are assumed and not measured are marked as such."""

    memory_gb: float = 1.0
    """The template's default."""
    billed_seconds: float = 0.010
    """Assumed: at most a millisecond of the gateway's own (`make bench`) and a DynamoDB read across a data centre."""
    reads: float = 5.0
    """The most: a key, or the five rows of a check for changes. Neither is read again within two seconds."""
    log_bytes: float = 1_600
    """A log line, a metric line, the three lines of Lambda itself and an access log line."""


def cost_per_thousand(usage: CallUsage) -> Mapping[str, float]:
    return {
        "HTTP API": 1000 * PRICES["HTTP API, a million requests"] / MILLION,
        "Lambda requests": 1000 * PRICES["Lambda, a million requests"] / MILLION,
        "Lambda time": 1000 * usage.billed_seconds * usage.memory_gb * PRICES["Lambda arm64, a GB-second"],
        "DynamoDB": 1000 * usage.reads * PRICES["DynamoDB on demand, a million read units"] / MILLION,
        "Logs": 1000 * usage.log_bytes * PRICES["CloudWatch, a GB of logs"] / GIGABYTE,
    }


EFFECT_REQUESTS, EFFECT_WRITES = 2, 2
"""An effect by `ctx.once` is claimed and recorded. Each write is of one row below a kilobyte, and no transaction."""


def cost_of_thousand_effects(usage: CallUsage) -> Mapping[str, float]:
    """Return what effects cost beside the calls that have them: an invocation and a write for each operation."""
    requests, price = 1000 * EFFECT_REQUESTS, PRICES["DynamoDB on demand, a million write units"]
    return {
        "Lambda requests": requests * PRICES["Lambda, a million requests"] / MILLION,
        "Lambda time": requests * usage.billed_seconds * usage.memory_gb * PRICES["Lambda arm64, a GB-second"],
        "DynamoDB": 1000 * EFFECT_WRITES * price / MILLION,
        "Logs": requests * usage.log_bytes * PRICES["CloudWatch, a GB of logs"] / GIGABYTE,
    }


def cost_of_idle_month() -> Mapping[str, float]:
    types = Counter(str(as_object(resource).get("Type")) for resource in _resources().values())
    time = (SWEEPS * SWEEP_SECONDS + DUE_SWEEPS * DUE_SWEEP_SECONDS) * PRICES["Lambda arm64, a GB-second"]
    invocations = (SWEEPS + DUE_SWEEPS) * PRICES["Lambda, a million requests"] / MILLION
    reads = DUE_SWEEPS * DUE_SWEEP_UNITS * PRICES["DynamoDB on demand, a million read units"] / MILLION
    return {
        "Secrets": types["AWS::SecretsManager::Secret"] * PRICES["Secrets Manager, a secret a month"],
        "Alarms": types["AWS::CloudWatch::Alarm"] * PRICES["CloudWatch, an alarm a month"],
        "Sweeper": time + invocations + reads,
        "Polls of queues": QUEUES * POLLS * PRICES["SQS, a million requests"] / MILLION,
    }


def cost_of_thousand_steps(rows: Sequence[WrittenRow]) -> Mapping[str, float]:
    """Price the rows of a step: those of the run, and those by which it is in the lists of runs."""
    unit = PRICES["DynamoDB on demand, a million write units"] / MILLION
    listed = sum(row.units for row in rows if row.is_of_a_list)
    return {
        "Rows of the run": 1000 * (sum(row.units for row in rows) - listed) * unit,
        "Rows of the lists of runs": 1000 * listed * unit,
    }


def _resources() -> Mapping[str, Json]:
    return section(parse_template((PROJECT / "template.yaml").read_text("utf-8")), "Resources")


def format_table(title: str, costs: Mapping[str, float]) -> Iterator[str]:
    yield f"{title:<34}{'USD':>10}"
    yield from (f"  {name:<32}{cost:>10.5f}" for name, cost in costs.items())
    yield f"  {'total':<32}{sum(costs.values()):>10.5f}"


def _describe_row(row: WrittenRow) -> str:
    purpose = "in a list of runs" if row.is_of_a_list else row.name.partition("#")[0].replace("now", "current state")
    return f"  a row of {row.size:>5,} bytes, {row.units:>2} write units: {purpose}"


def main() -> None:
    rows = measure_step()
    print(f"Prices: {PRICES_OF}")
    print(
        *format_table("idle, a month", cost_of_idle_month()),
        *format_table("1,000 warm calls", cost_per_thousand(CallUsage())),
        *format_table("1,000 effects, beside their calls", cost_of_thousand_effects(CallUsage())),
        *format_table("1,000 steps, beside their calls", cost_of_thousand_steps(rows)),
        *map(_describe_row, rows),
        sep="\n",
    )


if __name__ == "__main__":
    main()
