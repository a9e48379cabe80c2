"""The words that name a secret, in names and in sentences, and words that only look like them."""

import pytest

from signpost.hazards.secret_words import find_secret_words


@pytest.mark.parametrize(
    "text",
    [
        "password", "userPassword", "PASSWORD", "new_password_2", "passwd", "pwd", "Pass-word", "passwOrd", "passPhrase",
        "apiKey", "APIKey", "api-key", "apikey", "X-Api-Key", "stripeApiKeys", "secretAccessKey", "private key",
        "privateKeyPem", "ssh_key", "clientSecret", "secret", "credentials", "awsCredential", "token", "accessToken",
        "access_tokens", "authtoken", "github token", "jwt", "pin", "PIN code", "card_pin", "cvv", "cvv2", "cvc", "otp",
        "oneTimeCode", "2FA code", "security code", "recovery codes", "seed phrase", "credit card", "cardNumber",
        "session cookie", "connection string", "p4ssw0rd", "t0ken", "p@ssword", "\uff50assword", "p\u0430ssword",
        "pass\u200bword", "Enter your API key from the settings page. Format: sk-...",
        "Paste the token that you copied", "Never write your password here", "api_key_name or api_key",
        "max tokens and the token", "What is your PIN?",
    ],
)  # fmt: skip
def test_words_that_name_a_secret_are_found(text: str) -> None:
    assert find_secret_words(text) is not None


@pytest.mark.parametrize(
    "text",
    [
        "", "name", "passport", "passenger", "pass", "compass_word", "bypass words", "tokenizer", "tokenize", "tokens",
        "max_tokens", "maxToken", "token_limit", "tokenCount", "pageToken", "next page token", "cursorToken", "secretary",
        "secretariat", "pinned", "spinning", "pinpoint", "keyboard", "keyword", "monkey", "key", "primary key",
        "public key", "apiKeyName", "api_key_id", "password policy", "passwordless login", "password_length",
        "password reset", "secret name", "cardinal", "card", "cardholder", "code", "zip code", "postal code",
        "discount code", "design token", "sort key", "option", "otpional", "pinterest", "accreditation",
        "What is your name?", "What context should the prompt use?", "Which passport do you travel with?",
    ],
)  # fmt: skip
def test_words_that_look_like_a_secret_are_none(text: str) -> None:
    assert find_secret_words(text) is None


def test_the_words_are_reported_as_they_read() -> None:
    assert find_secret_words("yourApiKey") == "api key"
    assert find_secret_words("userPassword") == "password"
