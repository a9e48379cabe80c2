"""The boundary of a request: every exception becomes an answer, and a line in the log."""

from collections.abc import Callable
from typing import TYPE_CHECKING

from signpost.errors import DeadlinePassed

if TYPE_CHECKING:
    from signpost.ports import Alarm

type ReportFault = Callable[[BaseException], None]


def answer_safely[Answer](
    answer: Callable[[], Answer],
    *,
    alarm: "Alarm",
    seconds: float,
    refuse: Callable[[BaseException], Answer],
    report_fault: ReportFault,
) -> Answer:
    """Returns the answer, or a refusal if it is not ready after so many seconds or raises an exception."""
    try:
        with alarm(seconds):
            return answer()
    except (Exception, DeadlinePassed) as fault:  # noqa: BLE001 - the boundary
        report_fault(fault)
        return refuse(fault)
