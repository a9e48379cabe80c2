"""Mutants of calls: capability tokens, breakers, egress, secrets and logs."""

from tests.mutants.mutant import Mutant

_SHARED = "layers/shared/python/signpost"

_JUDGES_EVERY_REQUEST = """\
        if refusal := self._rules.refusal(destination, addresses):
            return WebFailure("forbidden", refusal)
"""
_JUDGES_THE_FIRST_REQUEST = """\
        refusal = None if "judged" in vars(self) else self._rules.refusal(destination, addresses)
        if refusal:
            return WebFailure("forbidden", refusal)
        self.judged = True
"""

FUNCTION_MUTANTS = (
    Mutant(
        name="capability-without-arguments",
        invariant=29,
        file=f"{_SHARED}/signing/capability_tokens.py",
        there="call.arguments, call.answers, call.state, call.idempotency_key, call.keep_at, *_client_content(call)",
        instead="call.answers, call.state, call.idempotency_key, call.keep_at, *_client_content(call)",
        tests=("tests/unit/signing/test_capability_tokens.py",),
    ),
    Mutant(
        name="capability-lasts-for-ever",
        invariant=29,
        file=f"{_SHARED}/signing/capability_tokens.py",
        there="if self._clock.now() >= grant.expires_at:",
        instead="if self._clock.now() >= grant.expires_at + 3600:",
        tests=("tests/unit/signing/test_capability_tokens.py",),
    ),
    Mutant(
        name="breaker-never-opens",
        invariant=30,
        file=f"{_SHARED}/calling/breaker.py",
        there="elif failures >= limit:",
        instead="elif failures >= MAX_COUNTED_FUNCTIONS:",
        tests=("tests/interaction/test_breaker.py",),
    ),
    Mutant(
        name="one-principal-stops-all",
        invariant=91,
        file=f"{_SHARED}/calling/breaker.py",
        there="SEVERAL_PRINCIPALS = 3",
        instead="SEVERAL_PRINCIPALS = 1",
        tests=("tests/interaction/test_breaker.py",),
    ),
    Mutant(
        name="failures-of-input-count",
        invariant=90,
        file="functions/executor_core/core_skills/caller_input.py",
        there="raise ToolError(message, counts=False) from None",
        instead='raise ToolError(message, "transient_error") from None',
        tests=("tests/unit/core_skills/test_caller_input.py",),
    ),
    Mutant(
        name="several-probes-at-once",
        invariant=30,
        file=f"{_SHARED}/adapters/dynamodb/breakers.py",
        there='f" AND (attribute_not_exists({place}probing_until) OR {place}probing_until <= :now)"',
        instead='""',
        tests=("tests/contract/test_functions.py",),
        needs="table",
    ),
    Mutant(
        name="hosts-of-callers-close-the-function",
        invariant=62,
        file="functions/executor_core/core_skills/caller_input.py",
        there="error.counts = False",
        instead="error.counts = True",
        tests=("tests/interaction/test_http_fetch.py",),
    ),
    Mutant(
        name="tools-lead-to-the-registry",
        invariant=37,
        file=f"{_SHARED}/catalogue/exposure.py",
        there="return function == FETCH_FUNCTION or is_internal(function)",
        instead="return function == FETCH_FUNCTION",
        tests=("tests/interaction/test_bridge.py",),
    ),
    Mutant(
        name="placement-over-another",
        invariant=33,
        file=f"{_SHARED}/adapters/dynamodb/directory.py",
        there='"ConditionExpression": "revision = :revision",',
        instead='"ConditionExpression": "revision >= :revision",',
        tests=("tests/contract/test_placement_interruptions.py",),
        needs="table",
    ),
    Mutant(
        name="interrupted-placement-forgets-its-skills",
        invariant=131,
        file=f"{_SHARED}/adapters/dynamodb/placement_notices.py",
        there="    if row is None or NAMES_ATTRIBUTE not in row:\n",
        instead="    if names:\n",
        tests=("tests/contract/test_placement_interruptions.py",),
        needs="table",
    ),
    Mutant(
        name="egress-to-link-local",
        invariant=58,
        file=f"{_SHARED}/policy/egress.py",
        there='    IPv4Network("169.254.0.0/16"),',
        instead='    IPv4Network("169.254.0.0/32"),',
        tests=("tests/unit/policy/test_egress.py",),
    ),
    Mutant(
        name="redirects-not-judged",
        invariant=58,
        file=f"{_SHARED}/adapters/egress.py",
        there=_JUDGES_EVERY_REQUEST,
        instead=_JUDGES_THE_FIRST_REQUEST,
        tests=("tests/interaction/test_http_fetch.py",),
    ),
    Mutant(
        name="only-first-address-judged",
        invariant=39,
        file=f"{_SHARED}/adapters/egress.py",
        there="self._rules.refusal(destination, addresses):",
        instead="self._rules.refusal(destination, addresses[:1]):",
        tests=("tests/interaction/test_egress.py",),
    ),
    Mutant(
        name="secret-in-executor-log",
        invariant=63,
        file=f"{_SHARED}/toolkit/call_log.py",
        there="return self._secrets.mask(_words_of(value))[:LONGEST_TEXT]",
        instead="return _words_of(value)[:LONGEST_TEXT]",
        tests=("tests/interaction/test_context.py",),
    ),
    Mutant(
        name="arguments-in-gateway-log",
        invariant=13,
        file=f"{_SHARED}/telemetry.py",
        there='return {"fault": type(fault).__name__,',
        instead='return {"fault": repr(fault),',
        tests=("tests/interaction/test_front_door.py",),
    ),
    Mutant(
        name="result-not-held-against-its-schema",
        invariant=21,
        file=f"{_SHARED}/mcp/tools.py",
        there="if tool.output_schema is not None and not result.is_error:",
        instead="if tool.output_schema is not None and result.is_error:",
        tests=("tests/interaction/test_tools.py",),
    ),
    Mutant(
        name="grant-outlives-its-end",
        invariant=170,
        file=f"{_SHARED}/calling/grants.py",
        there="return self.expires_at is not None and self.expires_at <= now",
        instead="return self.expires_at is not None and self.expires_at + 3600 <= now",
        tests=("tests/interaction/test_visible_functions.py",),
    ),
    Mutant(
        name="grants-remembered-for-the-tenant",
        invariant=170,
        file=f"{_SHARED}/calling/grants.py",
        there="key = (principal.tenant, principal.issuer, principal.subject)",
        instead='key = (principal.tenant, "", "")',
        tests=("tests/interaction/test_visible_functions.py",),
    ),
    Mutant(
        name="condition-not-asked",
        invariant=170,
        file=f"{_SHARED}/calling/function_listing.py",
        there="(hosted.visible_when is not None and hosted.function not in met)",
        instead="(hosted.visible_when is not None and not met and hosted.timeout_ms == 1)",
        tests=("tests/interaction/test_visible_functions.py",),
    ),
    Mutant(
        name="grants-read-for-every-condition",
        invariant=173,
        file=f"{_SHARED}/calling/function_listing.py",
        there="if conditions.names_grants else _NONE",
        instead="if conditions.functions else _NONE",
        tests=("tests/interaction/test_visible_functions.py",),
    ),
    Mutant(
        name="every-claim-passes",
        invariant=174,
        file=f"{_SHARED}/identity/claims.py",
        there="for name in sorted(passed) if name in claims",
        instead="for name in sorted(claims) if name in claims",
        tests=("tests/interaction/test_claims.py",),
    ),
    Mutant(
        name="trigger-announces",
        invariant=175,
        file=f"{_SHARED}/content/announcements.py",
        there="if call.issuer in (TRIGGER_ISSUER, ENGINE_SUBJECT):",
        instead="if call.issuer == ENGINE_SUBJECT:",
        tests=("tests/interaction/test_announcements.py",),
    ),
)
