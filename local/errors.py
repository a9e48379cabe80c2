"""The error of the laptop cloud, with a message that says what to do."""


class CloudError(Exception):
    """An error that the developer can act on; shown without a traceback."""
