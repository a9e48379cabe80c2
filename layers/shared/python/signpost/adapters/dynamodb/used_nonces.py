"""The nonces of answers that were used, a row each. A conditional write decides which request uses a nonce."""

from typing import TYPE_CHECKING
from uuid import uuid4

from signpost.adapters import keys
from signpost.adapters.dynamodb import rows
from signpost.calling.breaker import digest_of
from signpost.calling.text_digests import digest_of_texts
from signpost.model import Principal

if TYPE_CHECKING:
    from mypy_boto3_dynamodb import DynamoDBClient

KEPT_AFTER_EXPIRY = 3_600
"""Seconds for which the row outlives the answer: the clocks of gateways differ."""


class DynamoUsedNonces:
    def __init__(self, client: "DynamoDBClient", table: str) -> None:
        self._client = client
        self._table = table

    def use(self, principal: Principal, nonce: str, expires_at: float) -> bool:
        """Use a nonce. The row names the use, so that a use whose answer was lost is recognised when the client of the
        table repeats it."""
        use = uuid4().hex
        row = {
            **keys.used_nonce(principal.tenant, digest_of(principal), digest_of_texts(nonce)),
            "used_by": {"S": use},
            "expires_at": rows.number(expires_at + KEPT_AFTER_EXPIRY),
            **rows.schema_attribute(),
        }
        standing = rows.put_if(self._client, self._table, row, "attribute_not_exists(pk)")
        return standing is not None and standing["used_by"]["S"] == use
