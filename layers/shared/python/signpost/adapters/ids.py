"""Random names for what has none yet."""

import uuid


class RandomIds:
    def new(self) -> str:
        return uuid.uuid4().hex
