"""The services that the protocol needs on every surface."""

from typing import TYPE_CHECKING

from signpost.mcp.server_description import ServerDescriptions
from signpost.mcp.tool_texts import ToolTexts
from signpost.records import dataclass
from signpost.schema.validation import Validators
from signpost.signing.seals import Sealer

if TYPE_CHECKING:
    from signpost.content.ports import AnswerStore
    from signpost.ports import Alarm, Clock


@dataclass(frozen=True, slots=True)
class McpServices:
    sealer: Sealer
    clock: "Clock"
    alarm: "Alarm"
    validators: Validators
    long_answers: "AnswerStore"
    tool_texts: ToolTexts
    server: ServerDescriptions
