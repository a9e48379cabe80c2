"""Attacks on access: principals, rules and delegation."""

from collections.abc import Mapping, Sequence
from typing import Any

from signpost.contract import HostedFunction
from signpost.model import JsonObject
from tests.attacks.attack import Attack, Outcome, Play, UnplayedError, held, succeeded
from tests.attacks.defence import APART, Defence, Removal
from tests.attacks.target import Target, read_result
from tests.support.laptop import CHALLENGE
from tests.support.memory_gateway import GatewayAnswer
from tests.support.waiting import wait_for

_RULES = "layers/shared/python/signpost/policy/rules.py"
_NESTED = "layers/shared/python/signpost/calling/nested.py"
_TOKENS = "layers/shared/python/signpost/signing/capability_tokens.py"
_INSTANCE = "layers/shared/python/signpost/workflow/instance.py"
_TELEMETRY = "layers/shared/python/signpost/telemetry.py"
_CLAIMS = "layers/shared/python/signpost/identity/claims.py"
_AUTHENTICATOR = "layers/shared/python/signpost/identity/authenticator.py"

DENY_BY_DEFAULT = Defence(
    name="deny-by-default",
    title="the denial of items that no rule allows",
    removals=(
        Removal(_RULES, '    return PolicyDecision(default == "allow", None,', "    return PolicyDecision(True, None,"),
    ),
)
DENY_WINS = Defence(
    name="deny-wins",
    title="the precedence of rules that deny",
    removals=(
        Removal(_RULES, "    if denying:\n", "    if denying and not any(it.kind == 'allow' for it in relevant):\n"),
    ),
)
EXACT_SUBJECTS = Defence(
    name="exact-subjects",
    title="the comparison of subjects letter by letter",
    removals=(
        Removal(
            _RULES,
            "            return (principal.subject,)\n",
            "            look_alike = principal.subject.replace('\\u0430', 'a').partition('\\0')[0]\n"
            "            return (look_alike.strip('\\u200d\\u202e'),)\n",
        ),
    ),
    group=APART,  # without the denial of items that no rule allows, no subject is compared
)
NESTED_ACCESS = Defence(
    name="nested-access",
    title="the rules for calls from function to function",
    removals=(
        Removal(
            _NESTED,
            "is_admitted = self._access.admits(grant.principal, function, over_mcp=False)",
            "is_admitted = True",
        ),
    ),
)
NESTED_PERMISSIONS = Defence(
    name="nested-permissions",
    title="the limit of a nested call to the permissions of the outer one",
    removals=(Removal(_NESTED, "permissions=frozenset(grant.permissions),", "permissions=None,"),),
)
DEPTH_LIMIT = Defence(
    name="depth-limit",
    title="the limit of the depth of nested calls",
    removals=(Removal(_TOKENS, "DEEPEST_CALL = 3\n", "DEEPEST_CALL = 100\n"),),
)
AUTHENTICATION = Defence(
    name="authentication",
    title="the refusal of requests without a credential",
    removals=(
        Removal(
            _AUTHENTICATOR,
            "        if isinstance(credential, Denial):\n",
            "        if credential is NO_CREDENTIALS:\n"
            '            return Principal("anonymous", "default", "nobody")\n'
            "        if isinstance(credential, Denial):\n",
        ),
    ),
)
SUBJECT_LENGTH = Defence(
    name="subject-length",
    title="the limit of a subject to 255 characters",
    removals=(Removal(_CLAIMS, "LONGEST_SUBJECT = 255\n", "LONGEST_SUBJECT = 1_000_000\n"),),
)

SECOND_PERSON = Defence(
    name="second-person",
    title="the exclusion of the asker from distinct approvers",
    removals=(Removal(_INSTANCE, "self.approved_by - self.askers)", "self.approved_by)"),),
)
LOG_FIELDS = Defence(
    name="log-fields",
    title="the writing of each log line as one JSON object",
    removals=(
        Removal(
            _TELEMETRY,
            "        self._logger.append_keys(tenant=principal.tenant, principal=principal.subject)\n",
            "        self._logger.append_keys(tenant=principal.tenant, principal=principal.subject)\n"
            '        print(f"principal={principal.subject}", flush=True)\n',
        ),
    ),
)

CALLING, MAIL_AND_WEB = ("call", "nested", "show"), frozenset({"mail", "web"})
FUNCTION, TOOL = "bash::exec", "skill:exec"


def call_under_rules(policies: JsonObject, *, roles: Sequence[str] = ()) -> Play:
    """Return an attack that calls a function that the rules of the tenant deny to the attacker."""

    def play(target: Target) -> Outcome:
        target.host(HostedFunction(FUNCTION), bash__exec=[{"returns": "ran"}])
        published = target.call_registry("manifest::publish", {"policies": policies})
        if "error" in published:
            raise UnplayedError(f"the rules could not be published: {published}")
        answer = target.call_tool(TOOL, credential=target.make_key("attacker", roles=roles))
        return judge_call(target, FUNCTION, answer)

    return play


def judge_call(target: Target, function: str, answer: GatewayAnswer) -> Outcome:
    """Return the outcome of a call that must be answered like one of an unknown tool."""
    if target.list_calls(function):
        return succeeded(f"{function} was called: {answer.text[:300]}")
    if answer.status != 400 or "There is no tool" not in answer.text:
        raise UnplayedError(f"the call was answered in another way: {answer.status} {answer.text[:300]}")
    return held(answer.json["error"]["message"])


def rule(kind: str, who: str = "*") -> JsonObject:
    return {"kind": kind, "who": [who], "what": [FUNCTION]}


def host_trials(target: Target) -> None:
    """Host functions of the test stage that call others, with schemas that take arguments."""
    anything: JsonObject = {"type": "object"}
    callees = frozenset({"trials::call", "trials::nested", "trials::show", "trials::checked", FUNCTION, "shaky::thing"})
    hosted = [
        HostedFunction(f"trials::{name}", permissions=MAIL_AND_WEB, input_schema=anything, callees=callees)
        for name in CALLING
    ]
    target.executors.place("trials", hosted, target.tenant, timeout_ms=20_000)


def nest(tool: str, arguments: JsonObject) -> Play:
    """Return an attack by calls of functions that are nested deeper than allowed."""

    def play(target: Target) -> Outcome:
        host_trials(target)
        result = _call_in_time(target, tool, arguments)
        text = result["content"][0]["text"]
        if not result.get("isError"):
            return succeeded(text)
        if "at most three deep" not in text:
            raise UnplayedError(text)
        return held(text)

    return play


def _call_in_time(target: Target, tool: str, arguments: JsonObject) -> Any:
    """Return the result of nested calls. They are repeated if a busy machine starts their sandboxes too slowly; those
    that have started are there for the next attempt."""
    return wait_for(
        "nested calls within their deadline",
        lambda: read_result(target.call_tool(tool, arguments)),
        lambda result: "took too long" not in result["content"][0]["text"],
    )


def chain_calls(*functions: str) -> JsonObject:
    """Return arguments of `trials::call` with which each function calls the next one."""
    first, *others = functions
    return {"function": first, "arguments": chain_calls(*others) if others else {}}


def gain_permission(target: Target) -> Outcome:
    """Reach a function with more permissions through one with fewer."""
    host_trials(target)
    call: JsonObject = {"function": "trials::checked", "arguments": {"n": 1}}
    result = _call_in_time(target, "skill:call", call)
    permissions = result["structuredContent"]["permissions"]
    if "write" in permissions:
        return succeeded(f"the called function had the permissions {permissions}")
    if permissions != ["web"]:
        raise UnplayedError(f"the called function had the permissions {permissions}")
    return held("the called function had the permission web alone, which both declare")


def pass_rule_by_delegation(target: Target) -> Outcome:
    """Let an allowed function call one that the rules deny to the caller."""
    host_trials(target)
    target.host(HostedFunction(FUNCTION), bash__exec=[{"returns": "ran"}])
    published = target.call_registry("manifest::publish", {"policies": {"no-shell": rule("deny", "role:guest")}})
    if "error" in published:
        raise UnplayedError(f"the rules could not be published: {published}")
    guest = target.make_key("guest", roles=["guest"])
    answer = target.call_tool("skill:call", {"function": FUNCTION}, credential=guest)
    text = read_result(answer)["content"][0]["text"]
    if target.list_calls(FUNCTION):
        return succeeded(f"{FUNCTION} was called: {text}")
    if "bash::exec" not in text:
        raise UnplayedError(text)
    return held(text)


RELEASE: JsonObject = {
    "title": "Release",
    "initialState": "draft",
    "states": {
        "draft": {
            "transitions": {"ask": {"target": "waiting", "executor": {"kind": "human", "queue": "releases"}}},
        },
        "waiting": {
            "transitions": {
                "approve": {
                    "actor": "human",
                    "decision": "approve",
                    "target": "waiting",
                    "guards": [{"kind": "permission", "permission": "workflow.approve"}],
                    "branches": [
                        {
                            "when": {
                                "kind": "evidence",
                                "requires": [{"kind": "human_approval", "count": 1, "distinct": True}],
                            },
                            "target": "released",
                        }
                    ],
                }
            }
        },
        "released": {"terminal": True},
    },
}


def approve_own_request(target: Target) -> Outcome:
    """Ask for an approval as a person, and give it as the same person."""
    target.store_manifest({"version": 1, "workflows": {"release": RELEASE}})
    person = target.laptop.issuer.access_token("approver", target.stack.url, tenant=target.tenant)
    stand = _step(target, person, "workflow.start", {"definitionId": "release", "input": {}})
    for transition in ("ask", "approve"):
        (link,) = [it for it in stand["links"] if it["args"].get("transition") == transition]
        stand = _step(target, person, link["method"], link["args"])
    if stand["state"] == "released":
        return succeeded("the person who had asked has released it alone")
    if stand["state"] != "waiting":
        raise UnplayedError(f"the workflow is in the state {stand['state']}")
    return held("the approval by the asker was taken, and did not count: the workflow still waits")


def _step(target: Target, credential: str, tool: str, arguments: Mapping[str, Any]) -> Any:
    result = read_result(target.call_tool(tool, arguments, credential=credential, path="/mcp"))
    if result.get("isError"):
        raise UnplayedError(f"{tool} was refused: {result}")
    return result["structuredContent"]


def send_without_credential(target: Target) -> Outcome:
    answer = target.stack.request(None, "tools/list")
    if answer.status == 200:
        return succeeded("the tools were listed")
    if answer.status != 401:
        raise UnplayedError(f"{answer.status} {answer.text}")
    return held(answer.headers.get(CHALLENGE, ""))


KNOWN_SUBJECT = "admin-agent"


def send_long_subject(target: Target) -> Outcome:
    """Send a token of the issuer for a subject of a few thousand characters."""
    subject = f"{KNOWN_SUBJECT}{'a' * 3_000}"
    token = target.laptop.issuer.access_token("agent", target.stack.url, tenant=target.tenant, sub=subject)
    answer = target.request("tools/list", credential=token)
    if answer.status == 200:
        return succeeded(f"the tools were listed for a subject of {len(subject)} characters")
    if answer.status != 401 or "at most 255" not in answer.text:
        raise UnplayedError(f"{answer.status} {answer.text}")
    return held(answer.json["error"]["message"])


def pose_as(subject: str) -> Play:
    """Return an attack by a token of the issuer for a subject that resembles one that the rules allow."""

    def play(target: Target) -> Outcome:
        target.host(HostedFunction(FUNCTION), bash__exec=[{"returns": "ran"}])
        allow = rule("allow", f"subject:{KNOWN_SUBJECT}")
        published = target.call_registry("manifest::publish", {"policies": {"default": "deny", "admins": allow}})
        if "error" in published:
            raise UnplayedError(f"the rules could not be published: {published}")
        token = target.laptop.issuer.access_token("agent", target.stack.url, tenant=target.tenant, sub=subject)
        answer = target.call_tool(TOOL, credential=token)
        return held("the token was refused") if answer.status == 401 else judge_call(target, FUNCTION, answer)

    return play


FORGED_LINE = '{"level":"ERROR","message":"breaker open","forged":true}'


def forge_log_line(target: Target) -> Outcome:
    """Send a token whose subject has field separators, a line break and a whole line of the log."""
    subject = f"agent|cs2=injected\n{FORGED_LINE}"
    token = target.laptop.issuer.access_token("agent", target.stack.url, tenant=target.tenant, sub=subject)
    answer = target.stack.request(token, "tools/list")
    if answer.status == 401:
        return held("the token was refused")
    lines = wait_for(
        "a line of the request in the log",
        lambda: target.executors.read_log_lines("gateway"),
        lambda lines: any(line.get("tenant") == target.tenant for line in lines),
    )
    if any(line.get("forged") for line in lines):
        return succeeded("the log has the forged line")
    (line,) = [line for line in lines if line.get("tenant") == target.tenant]
    if line.get("principal") != subject:
        raise UnplayedError(f"the log has another subject: {line}")
    return held("the subject is one field of one line")


ACCESS_ATTACKS: Sequence[Attack] = (
    Attack("A5.1", "Call a function that no rule allows", call_under_rules({"default": "deny"}), (DENY_BY_DEFAULT,)),
    Attack(
        "A5.2",
        "Outweigh a rule that denies by one of the own role that allows",
        call_under_rules({"z-deny": rule("deny"), "a-allow": rule("allow", "role:guest")}, roles=["guest"]),
        (DENY_WINS,),
    ),
    Attack(
        "A5.3",
        "Outweigh a rule that denies by an equal one that allows",
        call_under_rules({"a-deny": rule("deny"), "z-allow": rule("allow")}),
        (DENY_WINS,),
    ),
    Attack("A5.4", "Approve the own request", approve_own_request, (SECOND_PERSON,)),
    Attack(
        "A5.6",
        "Outweigh a rule that denies by several rules that allow",
        call_under_rules(
            {"b-deny": rule("deny", "role:guest"), "a-allow": rule("allow"), "c-allow": rule("allow", "role:guest")},
            roles=["guest"],
        ),
        (DENY_WINS,),
    ),
    Attack(
        "A5.7",
        "Let functions call each other deeper than allowed",
        nest("skill:call", chain_calls("trials::call", "trials::call", "trials::call", "trials::show")),
        (DEPTH_LIMIT,),
    ),
    Attack("A5.8", "Let a function call itself in a circle", nest("skill:nested", {"deeper": 5}), (DEPTH_LIMIT,)),
    Attack(
        "A5.9",
        "Gain permissions by calling a function that declares more of them",
        gain_permission,
        (NESTED_PERMISSIONS,),
    ),
    Attack(
        "A5.10",
        "Reach a denied function through an allowed one that calls it",
        pass_rule_by_delegation,
        (NESTED_ACCESS,),
    ),
    Attack("A8.4", "Forge fields and a line of the log by the subject of a token", forge_log_line, (LOG_FIELDS,)),
    Attack("A15.1", "Send a request without a credential", send_without_credential, (AUTHENTICATION,)),
    Attack(
        "A15.2",
        "Pose as a known subject by a name that a null byte ends",
        pose_as(f"{KNOWN_SUBJECT}\0guest"),
        (EXACT_SUBJECTS,),
    ),
    Attack(
        "A15.3",
        "Pose as a known subject by a name with invisible characters",
        pose_as(f"\u202e{KNOWN_SUBJECT}\u200d"),
        (EXACT_SUBJECTS,),
    ),
    Attack("A15.4", "Pose as a subject with a very long name", send_long_subject, (SUBJECT_LENGTH,)),
    Attack(
        "A15.5",
        "Pose as a known subject by a name with a look-alike letter",
        pose_as(f"\u0430{KNOWN_SUBJECT[1:]}"),
        (EXACT_SUBJECTS,),
    ),
)
