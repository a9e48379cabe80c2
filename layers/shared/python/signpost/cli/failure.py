"""What a command says when it cannot do what it was asked."""


class CommandFailed(Exception):  # noqa: N818 - it names what happened
    """The message is a sentence for the person at the terminal: what is wrong, and what to do."""


class Unanswered(CommandFailed):
    """Nobody said what became of it."""
