"""Implementations of the ports on the DynamoDB tables. Where callers compete, a conditional write decides."""

from signpost.adapters.dynamodb.api_keys import DynamoApiKeys
from signpost.adapters.dynamodb.breakers import DynamoBreakers
from signpost.adapters.dynamodb.content_store import DynamoContentStore
from signpost.adapters.dynamodb.directory import DynamoDirectory
from signpost.adapters.dynamodb.function_states import DynamoFunctionStates, DynamoPlacedFunctions
from signpost.adapters.dynamodb.issuer_key_sets import DynamoIssuerKeySets
from signpost.adapters.dynamodb.list_revisions import DynamoRevisionRows
from signpost.adapters.dynamodb.runtime_settings import DynamoRuntimeSettings

__all__ = [
    "DynamoApiKeys",
    "DynamoBreakers",
    "DynamoContentStore",
    "DynamoDirectory",
    "DynamoFunctionStates",
    "DynamoIssuerKeySets",
    "DynamoPlacedFunctions",
    "DynamoRevisionRows",
    "DynamoRuntimeSettings",
]
