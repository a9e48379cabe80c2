"""What every store of definitions promises."""

from typing import Any

import pytest

from signpost.adapters.dynamodb.definitions import LONGEST_IN_A_ROW, DynamoDefinitionTexts
from signpost.adapters.memory import MemoryTextStore
from signpost.ports import TextStore
from tests.contract.conftest import ENGINES, TABLE, build_text_store


@pytest.fixture(params=ENGINES)
def texts(request: pytest.FixtureRequest, dynamodb: Any) -> TextStore:
    if request.param == "memory":
        return MemoryTextStore()
    return DynamoDefinitionTexts(dynamodb(request.param), TABLE, build_text_store(request.param, request))


@pytest.mark.parametrize("size", [1, LONGEST_IN_A_ROW, LONGEST_IN_A_ROW + 1])
def test_a_text_is_read_under_its_digest(texts: TextStore, tenant: str, size: int) -> None:
    text = '{"z": "ä", "a": "' + "x" * size + '"}'
    digest = texts.keep(tenant, text)
    assert texts.keep(tenant, text) == digest
    assert texts.read(tenant, digest) == text
    assert texts.keep(tenant, f"{text} ") != digest


def test_a_text_of_another_tenant_is_not_found(texts: TextStore, tenant: str) -> None:
    digest = texts.keep(tenant, "{}")
    for owner, name in (("another", digest), (tenant, "0" * 64)):
        with pytest.raises(LookupError):
            texts.read(owner, name)
