"""Reads the description of the stack, from which the examination starts."""

import time
from collections.abc import Mapping, Sequence
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from signpost.cli.doctor.readers.examined_stack import ExaminedStack, make_client
from signpost.cli.doctor.readers.partial_reads import describe_fault
from signpost.cli.doctor.rules.clocks import ClockReading, judge_clock
from signpost.cli.failure import CommandFailed

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient

ACCOUNT_DOMAINS = (".amazonaws.com", ".amazonaws.com.cn", ".api.aws")


def read_stack(name: str, tenants: Sequence[str]) -> ExaminedStack:
    """Read the description of a stack. Raises CommandFailed if AWS refuses that, and errors of botocore without an
    answer."""
    client: CloudFormationClient = make_client("cloudformation")
    sent_at = time.time()
    try:
        answer = client.describe_stacks(StackName=name)
    except ClientError as fault:
        raise CommandFailed(
            f"{describe_fault(fault).rstrip('.')}.{describe_skew(fault, sent_at, time.time())}"
        ) from fault
    clock = ClockReading(sent_at, read_date(answer["ResponseMetadata"]["HTTPHeaders"], sent_at), time.time())
    host = client.meta.endpoint_url.partition("://")[2].partition("/")[0].partition(":")[0]
    region = client.meta.region_name
    return ExaminedStack(answer["Stacks"][0], clock, region, tenants, is_in_account=host.endswith(ACCOUNT_DOMAINS))


def read_date(headers: Mapping[str, str], default: float) -> float:
    """Return the time in the header `Date` of an answer of AWS."""
    try:
        return parsedate_to_datetime(headers["date"]).timestamp()
    except (KeyError, ValueError):
        return default


def describe_skew(fault: ClientError, sent_at: float, received_at: float) -> str:
    """Describe the skew of the clocks, with which AWS refuses every signature."""
    headers = fault.response.get("ResponseMetadata", {}).get("HTTPHeaders", {})
    reading = ClockReading(sent_at, read_date(headers, sent_at), received_at)
    return "".join(f" {finding.problem.rstrip('.')}. {finding.remedy}" for finding in judge_clock(reading))
