"""Implementations of the ports in memory, for tests and embedded gateways. The contract tests hold for them, too."""

from signpost.adapters.memory.bucket import MemoryBucket, MemoryReferences
from signpost.adapters.memory.content import MemoryAnswers, MemoryTextStore
from signpost.adapters.memory.content_store import MemoryBodies, MemoryContentStore
from signpost.adapters.memory.function_state import MemoryEffectRecords, MemoryHandles, MemoryUsedNonces
from signpost.adapters.memory.functions import (
    FunctionTable,
    MemoryBreakers,
    MemoryDirectory,
    MemoryFunctionStates,
    MemoryPlacedFunctions,
    MemoryRuntimeSettings,
)
from signpost.adapters.memory.identity import (
    FixedKeySet,
    MemoryApiKeys,
    MemoryIssuerKeySets,
    MemoryMasterKeys,
)
from signpost.adapters.memory.list_revisions import MemoryRevisionRows
from signpost.adapters.memory.loaded_executors import MemoryLoadedExecutors

__all__ = [
    "FixedKeySet",
    "FunctionTable",
    "MemoryAnswers",
    "MemoryApiKeys",
    "MemoryBodies",
    "MemoryBreakers",
    "MemoryBucket",
    "MemoryContentStore",
    "MemoryDirectory",
    "MemoryEffectRecords",
    "MemoryFunctionStates",
    "MemoryHandles",
    "MemoryIssuerKeySets",
    "MemoryLoadedExecutors",
    "MemoryMasterKeys",
    "MemoryPlacedFunctions",
    "MemoryReferences",
    "MemoryRevisionRows",
    "MemoryRuntimeSettings",
    "MemoryTextStore",
    "MemoryUsedNonces",
]
