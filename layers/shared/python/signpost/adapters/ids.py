"""Random ids."""

import uuid


class RandomIds:
    def new(self) -> str:
        return uuid.uuid4().hex
