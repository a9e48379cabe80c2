"""The services that the protocol needs on every surface."""

from signpost.content.ports import AnswerStore
from signpost.mcp.tool_texts import ToolTexts
from signpost.ports import Alarm, Clock
from signpost.records import dataclass
from signpost.schema.validation import Validators
from signpost.signing.seals import Sealer


@dataclass(frozen=True, slots=True)
class McpServices:
    sealer: Sealer
    clock: Clock
    alarm: Alarm
    validators: Validators
    long_answers: AnswerStore
    tool_texts: ToolTexts
