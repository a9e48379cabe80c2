"""The stores of texts and of long answers, in memory."""

from hashlib import sha256


class MemoryTextStore:
    def __init__(self) -> None:
        self._texts: dict[tuple[str, str], str] = {}

    def keep(self, tenant: str, text: str) -> str:
        digest = sha256(text.encode()).hexdigest()
        self._texts[tenant, digest] = text
        return digest

    def read(self, tenant: str, digest: str) -> str:
        try:
            return self._texts[tenant, digest]
        except KeyError as fault:
            raise LookupError(f"The tenant {tenant} has no text {digest}.") from fault


class MemoryAnswers:
    def __init__(self) -> None:
        self.kept: dict[str, str] = {}

    def keep(self, tenant: str, text: str) -> str:
        address = f"memory://{tenant}/answers/{len(self.kept)}"
        self.kept[address] = text
        return address

    def address(self, key: str) -> str:
        return f"memory://{key}"
