"""Signatures that any receiver of Standard Webhooks can check."""

import base64

from signpost.policy.webhooks import shown, signatures, signing_key

MASTER, OTHER = "0" * 64, "1" * 64
URL = "https://hooks.test/a"


def test_the_signature_is_that_of_standard_webhooks() -> None:
    key = base64.b64decode("MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw")
    signed = signatures([key], "msg_p5jXN8AQM9LWM0D4loKWxJek", 1614265330, b'{"test": 2432232314}')
    assert signed == "v1,g0hM9SsE+OTPJTGt/tmIKtSyZlE3uFJELVlNIOLJ1OE="


def test_while_keys_are_rotated_both_sign() -> None:
    first, second = (signing_key(master, "acme", URL) for master in (MASTER, OTHER))
    assert signatures([first, second], "msg_1", 1, b"{}").split(" ") == [
        signatures([first], "msg_1", 1, b"{}"),
        signatures([second], "msg_1", 1, b"{}"),
    ]


def test_a_receiver_has_a_key_that_is_nobody_elses() -> None:
    receivers = [("acme", URL), ("acme", f"{URL}/"), ("acm", URL), ("acme", "https://hooks.test"), ("e", f"acme:{URL}")]
    keys = [signing_key(master, tenant, url) for master in (MASTER, OTHER) for tenant, url in receivers]
    assert len(set(keys)) == len(keys)
    assert {len(key) for key in keys} == {32}


def test_a_secret_is_shown_as_receivers_configure_it() -> None:
    key = signing_key(MASTER, "acme", URL)
    assert shown(key).startswith("whsec_")
    assert base64.b64decode(shown(key).removeprefix("whsec_")) == key
