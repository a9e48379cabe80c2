"""The services that the protocol needs on every surface."""

from typing import TYPE_CHECKING

from signpost.mcp.server_description import ServerDescriptions
from signpost.mcp.tool_texts import ToolTexts
from signpost.records import dataclass
from signpost.schema.validation import Validators
from signpost.signing.seals import Sealer

if TYPE_CHECKING:
    from collections.abc import Callable

    from signpost.content.ports import AnswerStore
    from signpost.mcp.ports import UsedNonces
    from signpost.ports import Alarm, Clock, Ids


@dataclass(frozen=True, slots=True)
class McpServices:
    sealer: Sealer
    clock: "Clock"
    alarm: "Alarm"
    validators: Validators
    long_answers: "AnswerStore"
    tool_texts: ToolTexts
    server: ServerDescriptions
    ids: "Ids"
    used_nonces: "Callable[[], UsedNonces] | None" = None
    """Makes the record of used answers at its first use; None in a composition that has none."""
