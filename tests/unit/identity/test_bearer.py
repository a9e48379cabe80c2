"""What the challenge of a refusal says."""

from signpost.identity.bearer import challenge
from signpost.identity.denial import NO_CREDENTIALS, Denial, Reason


def test_without_credentials_the_challenge_names_no_error() -> None:
    assert challenge(NO_CREDENTIALS, None) == "Bearer"


def test_a_quotation_mark_in_a_message_stays_inside_its_quotes() -> None:
    denial = Denial(Reason.INVALID, 'said "no" \\ left')
    assert challenge(denial, None) == 'Bearer error="invalid_token", error_description="said \\"no\\" \\\\ left"'
