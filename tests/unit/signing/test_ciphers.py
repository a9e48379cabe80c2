"""Encrypted texts: only the stack reads them, for the principal and the purpose for which it encrypted them."""

import base64
from dataclasses import replace

import pytest

from signpost.adapters.memory.identity import MemoryMasterKeys
from signpost.model import MasterKeys, Principal
from signpost.signing.ciphers import TextCipher
from signpost.signing.key_ring import KeyRing
from tests.support.memory_gateway import ManualClock

OWNER = Principal("ann", "acme", "issuer")


@pytest.fixture
def secret() -> MemoryMasterKeys:
    return MemoryMasterKeys(MasterKeys("first", None))


def cipher_of(secret: MemoryMasterKeys) -> TextCipher:
    return TextCipher(KeyRing(store=secret, clock=ManualClock()))


def test_a_text_is_read_by_its_purpose_and_for_its_principal_only(secret: MemoryMasterKeys) -> None:
    cipher = cipher_of(secret)
    encrypted = cipher.encrypt("list", "wf_1 é", OWNER)
    assert cipher.decrypt("list", encrypted, OWNER) == "wf_1 é"
    assert cipher.decrypt("other list", encrypted, OWNER) is None
    for other in (replace(OWNER, subject="bob"), replace(OWNER, tenant="b"), replace(OWNER, issuer="b")):
        assert cipher.decrypt("list", encrypted, other) is None


def test_no_part_of_a_text_can_be_read_in_its_encrypted_form(secret: MemoryMasterKeys) -> None:
    text = cipher_of(secret).encrypt("list", "wf_1234567890", OWNER)
    read = base64.urlsafe_b64decode(text + "=" * (-len(text) % 4))
    assert not any(part in read for part in (b"wf_", b"123", b"789"))


def test_a_changed_text_is_refused_wherever_it_is_changed(secret: MemoryMasterKeys) -> None:
    cipher = cipher_of(secret)
    encrypted = cipher.encrypt("list", "wf_1", OWNER)
    changed = [
        encrypted[:at] + ("A" if encrypted[at] != "A" else "B") + encrypted[at + 1 :] for at in range(len(encrypted))
    ]
    for text in (*changed, encrypted[:-1], encrypted + "A", f"{encrypted}.", "", ".", "x", "é", "AAAA.AAAA"):
        assert cipher.decrypt("list", text, OWNER) is None


def test_the_previous_key_is_recognised_and_older_ones_are_not(secret: MemoryMasterKeys) -> None:
    encrypted = cipher_of(secret).encrypt("list", "wf_1", OWNER)
    secret.write(MasterKeys("second", "first"))
    assert cipher_of(secret).decrypt("list", encrypted, OWNER) == "wf_1"
    secret.write(MasterKeys("third", "second"))
    assert cipher_of(secret).decrypt("list", encrypted, OWNER) is None
