"""The errors that end a command."""


class CommandFailed(Exception):  # noqa: N818 - named after the event
    """Ends a command with exit code 1.

    The message is a sentence for the person at the terminal: the problem, and the next step."""


class NoServerAnswer(CommandFailed):
    """The server gave no answer, so it is not known whether the call took effect."""
