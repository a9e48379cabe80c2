"""What the challenge of a refusal says."""

from signpost.identity.bearer import build_challenge
from signpost.identity.denial import NO_CREDENTIALS, Denial, DenialReason


def test_without_credentials_the_challenge_names_no_error() -> None:
    assert build_challenge(NO_CREDENTIALS, None) == "Bearer"


def test_a_quotation_mark_in_a_message_stays_inside_its_quotes() -> None:
    denial = Denial(DenialReason.INVALID, 'said "no" \\ left')
    assert build_challenge(denial, None) == 'Bearer error="invalid_token", error_description="said \\"no\\" \\\\ left"'
