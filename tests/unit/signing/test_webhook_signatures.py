"""Signatures that any receiver of Standard Webhooks can check."""

import base64

from signpost.signing.webhook_signatures import derive_signing_key, format_key, sign_message

MASTER, OTHER = "0" * 64, "1" * 64
URL = "https://hooks.test/a"


def test_the_signature_is_that_of_standard_webhooks() -> None:
    key = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    signed = sign_message([key], "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')
    assert signed == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_during_a_rotation_both_keys_sign() -> None:
    first, second = (derive_signing_key(master, "acme", URL) for master in (MASTER, OTHER))
    assert sign_message([first, second], "msg_1", 1, b"{}").split(" ") == [
        sign_message([first], "msg_1", 1, b"{}"),
        sign_message([second], "msg_1", 1, b"{}"),
    ]


def test_every_receiver_has_a_key_of_its_own() -> None:
    receivers = [("acme", URL), ("acme", f"{URL}/"), ("acm", URL), ("acme", "https://hooks.test"), ("e", f"acme:{URL}")]
    keys = [derive_signing_key(master, tenant, url) for master in (MASTER, OTHER) for tenant, url in receivers]
    assert len(set(keys)) == len(keys)
    assert {len(key) for key in keys} == {32}


def test_a_secret_is_shown_as_receivers_configure_it() -> None:
    key = derive_signing_key(MASTER, "acme", URL)
    assert format_key(key).startswith("whsec_")
    assert base64.b64decode(format_key(key).removeprefix("whsec_")) == key
