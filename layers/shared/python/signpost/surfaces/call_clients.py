"""The client of a request: what the functions that serve the request may know of it, and how their notices reach it."""

from collections.abc import Sequence

from signpost.contract import CallClient, NoticeReceiver
from signpost.model import Call, LogNotice, Notice, ProgressNotice


def call_client_of(call: Call) -> CallClient:
    client = call.client
    return CallClient(
        capabilities=client.capabilities,
        info=client.info,
        can_answer=client.can_answer,
        wants_progress=client.progress_token is not None,
        log_level=client.log_level,
        thread=call.thread,
    )


def notice_receiver_of(call: Call) -> NoticeReceiver:
    """Return a function that sends the notices of functions to the client of the call, as far as it wants them."""

    def receive(function: str, notices: Sequence[Notice]) -> None:
        for notice in notices:
            match notice:
                case ProgressNotice(done, total, message):
                    call.notifications.send_progress(call, done, total, message or None)
                case LogNotice(level, data):
                    call.notifications.send_log(call, level, data, logger=function)

    return receive
