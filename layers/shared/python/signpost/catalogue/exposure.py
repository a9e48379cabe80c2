"""Decides which functions are tools of clients."""

from collections.abc import Mapping

from signpost.calling.runtime_settings import is_exposed
from signpost.content.documents import FETCH_FUNCTION
from signpost.content.names import is_internal
from signpost.contract import HostedFunction
from signpost.model import SettingValue


def is_tool(hosted: HostedFunction, settings: Mapping[str, SettingValue]) -> bool:
    """Tell whether the function is a tool, listed or hidden."""
    if is_never_a_tool(hosted.function) or hosted.component is not None:
        return False
    return is_exposed(hosted, settings)


def is_never_a_tool(function: str) -> bool:
    """Tell whether the id is reserved. `skill::fetch` is a tool of the registry, which no executor can replace."""
    return function == FETCH_FUNCTION or is_internal(function)
