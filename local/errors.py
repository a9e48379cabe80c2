"""What can go wrong in the laptop cloud, as sentences that say what to do."""


class CloudError(Exception):
    """Something a person can act on; shown without a traceback."""
