"""Mutants of access: credentials, policy, and the texts that clients carry for the gateway."""

from tests.mutants.mutant import Mutant

_SHARED = "layers/shared/python/signpost"
_OF_RULES = ("tests/unit/policy/test_rules.py",)
_OF_POLICY = ("tests/interaction/test_policy.py",)
_OF_CREDENTIALS = ("tests/interaction/test_authentication.py",)
_OF_NESTED_REGISTRY_CALLS = ("tests/interaction/test_nested_registry_calls.py",)
_OF_ROUNDS = ("tests/interaction/test_retry_state.py",)
_OF_ANSWERS = ("tests/interaction/test_bound_answers.py",)
_OF_QUESTIONS = ("tests/interaction/test_client_questions.py",)

ACCESS_MUTANTS = (
    Mutant(
        name="expired-token-accepted",
        invariant=1,
        file=f"{_SHARED}/identity/tokens.py",
        there="if expires <= now - CLOCK_LEEWAY:",
        instead="if expires <= 0:",
        tests=_OF_CREDENTIALS,
    ),
    Mutant(
        name="anonymous-from-anywhere",
        invariant=3,
        file=f"{_SHARED}/identity/authenticator.py",
        there="and self._anonymous is not None and _is_loopback(source_ip):",
        instead="and self._anonymous is not None:",
        tests=_OF_CREDENTIALS,
    ),
    Mutant(
        name="refused-credential-counts-as-the-operator",
        invariant=40,
        file=f"{_SHARED}/identity/invocation.py",
        there='        return self._authenticator.authenticate(header, source_ip="")\n',
        instead='        found = self._authenticator.authenticate(header, source_ip="")\n'
        "        return self._operator if isinstance(found, Denial) else found\n",
        tests=("tests/interaction/test_registry_invoke.py",),
    ),
    Mutant(
        name="issuer-asked-for-every-made-up-key",
        invariant=6,
        file=f"{_SHARED}/identity/key_set.py",
        there="refresh_not_before=now + REFRESH_AT_MOST_EVERY)",
        instead="refresh_not_before=now + REFRESH_LEASE)",
        tests=("tests/unit/identity/test_key_set.py",),
    ),
    Mutant(
        name="revoked-key-remembered",
        invariant=4,
        file=f"{_SHARED}/identity/api_keys.py",
        there="if 0 <= now - seen_at < LOOKUP_LIFETIME:",
        instead="if 0 <= now - seen_at < 10 * LOOKUP_LIFETIME:",
        tests=_OF_CREDENTIALS,
    ),
    Mutant(
        name="cursor-of-another-principal",
        invariant=10,
        file=f"{_SHARED}/signing/seals.py",
        there="json.dumps([principal.issuer, principal.subject, principal.tenant])",
        instead="json.dumps([principal.issuer, principal.tenant])",
        tests=("tests/interaction/test_home.py",),
    ),
    Mutant(
        name="state-of-another-tool",
        invariant=22,
        file=f"{_SHARED}/mcp/rounds.py",
        there='if opened.get("about") != _digest_of_request(request, subject):',
        instead="if not opened:",
        tests=_OF_ROUNDS,
    ),
    Mutant(
        name="state-lasts-for-ever",
        invariant=22,
        file=f"{_SHARED}/mcp/rounds.py",
        there="if not isinstance(expires, int | float) or expires <= request.services.clock.now() or rounds is None:",
        instead="if not isinstance(expires, int | float) or rounds is None:",
        tests=_OF_ROUNDS,
    ),
    Mutant(
        name="unfitting-answers-run",
        invariant=149,
        file=f"{_SHARED}/mcp/rounds.py",
        there="    if answers.open:\n",
        instead="    if answers.open and not answers.accepted:\n",
        tests=_OF_ANSWERS,
    ),
    Mutant(
        name="answer-counts-twice",
        invariant=150,
        file=f"{_SHARED}/mcp/rounds.py",
        there="return used is not None and used().use(request.call.principal, nonce, expires)",
        instead="return used is not None and (used().use(request.call.principal, nonce, expires) or bool(nonce))",
        tests=_OF_ANSWERS,
    ),
    Mutant(
        name="rounds-without-end",
        invariant=151,
        file=f"{_SHARED}/mcp/input_requests.py",
        there="    if rounds.number > MOST_ROUNDS:\n",
        instead="    if rounds.number > 2 * MOST_ROUNDS:\n",
        tests=_OF_ANSWERS,
    ),
    Mutant(
        name="needs-unchecked",
        invariant=152,
        file=f"{_SHARED}/calling/client_needs.py",
        there="    if not function.needs:\n",
        instead="    if not function.needs or client is not None:\n",
        tests=_OF_QUESTIONS,
    ),
    Mutant(
        name="question-swallowed",
        invariant=153,
        file=f"{_SHARED}/toolkit/attempt.py",
        there="    return context.input_required() or answer\n",
        instead="    return answer\n",
        tests=_OF_QUESTIONS,
    ),
    Mutant(
        name="deny-ignored",
        invariant=71,
        file=f"{_SHARED}/policy/rules.py",
        there='return rule.kind in ("deny", "unreadable") or',
        instead='return rule.kind == "unreadable" or',
        tests=_OF_RULES,
    ),
    Mutant(
        name="unreadable-rule-ignored",
        invariant=73,
        file=f"{_SHARED}/policy/rules.py",
        there='rule.kind == "unreadable" or any(_is_principal_match(pattern, principal) for pattern in rule.who)',
        instead="any(_is_principal_match(pattern, principal) for pattern in rule.who)",
        tests=_OF_RULES,
    ),
    Mutant(
        name="lists-not-filtered",
        invariant=70,
        file=f"{_SHARED}/calling/function_access.py",
        there="[hosted for hosted in functions.functions if access.allows(by_id[hosted.function])]",
        instead="[hosted for hosted in functions.functions if hosted.function in by_id]",
        tests=_OF_POLICY,
    ),
    Mutant(
        name="nested-call-without-policy",
        invariant=71,
        file=f"{_SHARED}/calling/nested.py",
        there="is_admitted = self._access.admits(grant.principal, function, over_mcp=False)",
        instead="is_admitted = True",
        tests=_OF_POLICY,
    ),
    Mutant(
        name="nested-call-gains-permissions",
        invariant=71,
        file=f"{_SHARED}/calling/nested.py",
        there="permissions=frozenset(grant.permissions),",
        instead="permissions=None,",
        tests=("tests/interaction/test_calls.py",),
    ),
    Mutant(
        name="function-publishes-without-declaring-it",
        invariant=130,
        file=f"{_SHARED}/entrypoints/registry_nested_calls.py",
        there="if ADMINISTRATION not in grant.permissions:",
        instead="if ADMINISTRATION in ():",
        tests=_OF_NESTED_REGISTRY_CALLS,
    ),
    Mutant(
        name="function-publishes-for-any-caller",
        invariant=130,
        file=f"{_SHARED}/entrypoints/registry_nested_calls.py",
        there="if ADMINISTRATION not in grant.principal.permissions:",
        instead="if ADMINISTRATION in ():",
        tests=_OF_NESTED_REGISTRY_CALLS,
    ),
    Mutant(
        name="sections-run-functions-that-no-token-names",
        invariant=130,
        file=f"{_SHARED}/content/handlers.py",
        there="if function not in caller.nested.callees:",
        instead="if function in ():",
        tests=_OF_NESTED_REGISTRY_CALLS,
    ),
)
