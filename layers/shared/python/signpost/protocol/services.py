"""What the protocol itself needs to answer, whatever the surface."""

from signpost.policy.seals import Sealer
from signpost.ports import Alarm, AnswerStore, Clock
from signpost.protocol.tool_texts import ToolTexts
from signpost.records import dataclass
from signpost.schema.validation import Validators


@dataclass(frozen=True, slots=True)
class Services:
    sealer: Sealer
    clock: Clock
    alarm: Alarm
    validators: Validators
    long_answers: AnswerStore
    tool_texts: ToolTexts
