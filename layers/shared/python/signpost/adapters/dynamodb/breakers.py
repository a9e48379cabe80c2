"""The store of breakers: one row of the registry table for each function with breakers that are not closed.

The row has the breaker that stops all callers in attributes of its own, as earlier releases wrote it; with no failures
it is closed. Each breaker that stops one principal is an attribute that the principal's digest names.
"""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from botocore.exceptions import ClientError

from signpost.adapters import keys
from signpost.adapters.aws import call, code_of
from signpost.adapters.dynamodb import rows
from signpost.adapters.dynamodb.rows import Attributes, Row
from signpost.contract import BreakerState, OpenBreakers

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

PRINCIPAL = "principal#"
"""The prefix of the attributes of single principals."""
CLOSED: Attributes = {
    "opened_until": rows.number(0), "failures": rows.number(0), "last_failure": {"S": ""}, **rows.schema_attribute()
}  # fmt: skip
"""The breaker for all callers in a row that is written for a principal. Earlier releases need these attributes."""


def breakers_in(row: Row) -> OpenBreakers:
    stopped = {
        name.removeprefix(PRINCIPAL): _state_in(value["M"]) for name, value in row.items() if name.startswith(PRINCIPAL)
    }
    return OpenBreakers(_state_in(row) if int(row["failures"]["N"]) else None, stopped)


def _state_in(row: Row) -> BreakerState:
    return BreakerState(
        opened_until=float(row["opened_until"]["N"]),
        failures=int(row["failures"]["N"]),
        last_failure=row["last_failure"]["S"],
        probing_until=rows.optional_number(row, "probing_until"),
        subject=row["subject"]["S"] if "subject" in row else None,
    )


class DynamoBreakers:
    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def of_tenant(self, tenant: str) -> Mapping[str, OpenBreakers]:
        breaker_rows = rows.query(self._client, self._table, keys.breakers_of(tenant))
        found = {row["sk"]["S"]: breakers_in(row) for row in breaker_rows}
        return {function: opened for function, opened in found.items() if opened.any}

    def open(self, tenant: str, function: str, state: BreakerState, principal: str | None = None) -> OpenBreakers:
        if principal is None:
            return breakers_in(self._open_for_all(tenant, function, state))
        opened = breakers_in(self._stop(tenant, function, state, principal))
        return self._remove(tenant, function, opened.surplus) if opened.surplus else opened

    def claim_probe(self, tenant: str, function: str, now: float, until: float, principal: str | None = None) -> bool:
        """Claim the probe of an open breaker until a time; False if another caller has claimed it.

        A caller that claims, loses the answer and repeats the call is refused by its own claim. No caller probes then
        until that claim expires.
        """
        place = "" if principal is None else "#principal."
        try:
            call(
                self._client.update_item,
                TableName=self._table,
                Key=keys.breaker(tenant, function),
                UpdateExpression=f"SET {place}probing_until = :until",
                ConditionExpression=_probe_condition(place),
                ExpressionAttributeValues={
                    ":until": rows.number(until),
                    ":now": rows.number(now),
                    ":none": rows.number(0),
                },
                ReturnValuesOnConditionCheckFailure="ALL_OLD",
                **_names(principal),
            )
        except ClientError as fault:
            if code_of(fault) == "ConditionalCheckFailedException":
                return _find(fault.response.get("Item"), principal) is None  # the breaker is closed
            raise
        return True

    def release_probe(self, tenant: str, function: str, until: float, principal: str | None = None) -> None:
        place = "" if principal is None else "#principal."
        rows.write_if(
            self._client.update_item,
            TableName=self._table,
            Key=keys.breaker(tenant, function),
            UpdateExpression=f"REMOVE {place}probing_until",
            ConditionExpression=f"{place}probing_until = :until",
            ExpressionAttributeValues={":until": rows.number(until)},
            **_names(principal),
        )

    def close_for(self, tenant: str, function: str, principal: str) -> None:
        """Close the breaker of one principal. A row without open breakers is deleted: a principal that is stopped in
        this moment then starts counting anew."""
        if not self._remove(tenant, function, [principal]).any:
            self.close(tenant, function)

    def close(self, tenant: str, function: str) -> bool:
        key = keys.breaker(tenant, function)
        answer = call(self._client.delete_item, TableName=self._table, Key=key, ReturnValues="ALL_OLD")
        row = answer.get("Attributes")
        return bool(row) and breakers_in(row).any

    def _open_for_all(self, tenant: str, function: str, state: BreakerState) -> Row:
        attributes = _attributes_of(state)
        settings = ", ".join(f"#{name} = :{name}" for name in attributes)
        removed = "" if "probing_until" in attributes else " REMOVE probing_until"
        return self._update(tenant, function, f"SET {settings}{removed}", attributes, {})

    def _stop(self, tenant: str, function: str, state: BreakerState, principal: str) -> Row:
        kept = ", ".join(f"#{name} = if_not_exists(#{name}, :{name})" for name in CLOSED)
        attributes = {"principal": {"M": _attributes_of(state)}}
        names = {"#principal": f"{PRINCIPAL}{principal}"}
        return self._update(tenant, function, f"SET #principal = :principal, {kept}", {**CLOSED, **attributes}, names)

    def _update(self, tenant: str, function: str, expression: str, values: Attributes, names: Mapping[str, str]) -> Row:
        """Write attributes of the row, each under its own name or the one that `names` has for it."""
        answer = call(
            self._client.update_item,
            TableName=self._table,
            Key=keys.breaker(tenant, function),
            UpdateExpression=expression,
            ExpressionAttributeValues={f":{name}": value for name, value in values.items()},
            ExpressionAttributeNames={**{f"#{name}": name for name in values}, **names},
            ReturnValues="ALL_NEW",
        )
        return answer["Attributes"]

    def _remove(self, tenant: str, function: str, principals: Sequence[str]) -> OpenBreakers:
        """Remove the breakers of principals and return those that are left."""
        names = {f"#n{place}": f"{PRINCIPAL}{digest}" for place, digest in enumerate(principals)}
        try:
            answer = call(
                self._client.update_item,
                TableName=self._table,
                Key=keys.breaker(tenant, function),
                UpdateExpression=f"REMOVE {', '.join(names)}",
                ConditionExpression="attribute_exists(failures)",
                ExpressionAttributeNames=names,
                ReturnValues="ALL_NEW",
            )
        except ClientError as fault:
            if code_of(fault) == "ConditionalCheckFailedException":
                return OpenBreakers()  # there is no row
            raise
        return breakers_in(answer["Attributes"])


def _attributes_of(state: BreakerState) -> Attributes:
    times = {"opened_until": state.opened_until, "failures": state.failures, "probing_until": state.probing_until}
    subject: Attributes = {"subject": {"S": state.subject}} if state.subject is not None else {}
    return {"last_failure": {"S": state.last_failure}, **rows.numbers(times), **subject, **rows.schema_attribute()}


def _names(principal: str | None) -> Attributes:
    return {} if principal is None else {"ExpressionAttributeNames": {"#principal": f"{PRINCIPAL}{principal}"}}


def _find(row: Row | None, principal: str | None) -> BreakerState | None:
    opened = breakers_in(row) if row else OpenBreakers()
    return opened.for_all if principal is None else opened.by_principal.get(principal)


def _probe_condition(place: str) -> str:
    return (
        f"{place}failures > :none AND {place}opened_until <= :now"
        f" AND (attribute_not_exists({place}probing_until) OR {place}probing_until <= :now)"
    )
