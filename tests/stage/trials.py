"""Functions that end in every possible way, and some that return the facts of their call."""

import ctypes
import json
import math
import os
import signal
import sys
import time
from collections.abc import Callable, Mapping, Sequence

import boto3
from botocore.exceptions import ClientError

from signpost.adapters.aws import code_of
from signpost.model import Json, JsonObject, as_object
from signpost.toolkit import Context, Function, HandleKind, ToolError, executor
from stage import effects

type Trial = Callable[[JsonObject, Context], object]


def _raise(_arguments: JsonObject, _ctx: Context) -> object:
    raise RuntimeError("the secret plan is 42")


def _report(arguments: JsonObject, _ctx: Context) -> object:
    raise ToolError(str(arguments.get("message", "There is no such order.")))


def _segfault(_arguments: JsonObject, _ctx: Context) -> object:
    return ctypes.string_at(0)


def _ask(arguments: JsonObject, ctx: Context) -> Json:
    form = {"name": {"type": "string", "required": True}, "day": {"type": "date", "required": True}}
    answer = ctx.elicit("who", "Who are you, and when were you born?", form)
    return f"{arguments['greeting']}, {answer.content['name']}, born in {answer.content['day'].year}!"


def _nested(arguments: JsonObject, ctx: Context) -> Json:
    """Call itself to the given depth."""
    left = arguments.get("deeper", 0)
    if not isinstance(left, int) or left == 0:
        return {"depth": ctx.depth, "permissions": sorted(ctx.permissions), "tenant": ctx.principal.tenant}
    return ctx.call("trials::nested", {**arguments, "deeper": left - 1})


def _call(arguments: JsonObject, ctx: Context) -> Json:
    called = arguments["function"]
    return ctx.call(str(called), as_object(arguments.get("arguments")))


def _show(_arguments: JsonObject, ctx: Context) -> Json:
    return {
        "call": ctx.call_id,
        "subject": ctx.principal.subject,
        "tenant": ctx.principal.tenant,
        "permissions": sorted(ctx.permissions),
        "depth": ctx.depth,
        "step": ctx.step,
        "key": ctx.idempotency_key,
        "remaining": ctx.remaining(),
    }


def _pin(_arguments: JsonObject, ctx: Context) -> Json:
    """Leak a secret to the log, the progress and the result, as an author must not."""
    text = ctx.secret("pin")
    ctx.log.info(text, pin=text)
    ctx.progress(1, 1, text)
    return {"length": len(text), "text": text}


def _second(arguments: JsonObject, _ctx: Context) -> None:
    """Fail on the first call, and have the effect on later calls."""
    effect = str(arguments["once_asked"])
    if effects.count(f"{effect}.asked") == 1:
        raise ToolError("Not yet.", kind="rate_limited")
    effects.count(effect)


def _once(arguments: JsonObject, ctx: Context) -> object:
    """Count an effect at most once. The process dies at the named moment of its first call."""
    effect, moment = str(arguments["once"]), str(arguments.get("dies", ""))

    def die_at(reached: str) -> None:
        if moment == reached and effects.count(f"{effect}.died") == 1:
            os.kill(os.getpid(), signal.SIGKILL)

    def happen() -> object:
        die_at("before")
        number = effects.count(effect)
        die_at("inside")
        time.sleep(float(str(arguments.get("seconds", 0))))
        return {"number": number, "pid": os.getpid()}

    value = ctx.once("effect", happen, repeat=arguments.get("repeat") is True)
    die_at("after")
    return value


CARTS = HandleKind("cart", expires_in=600, made_by="trials::open_cart")


def _open_cart(_arguments: JsonObject, ctx: Context) -> object:
    return ctx.handles.create(CARTS, {"items": []}).id


def _fill_cart(arguments: JsonObject, ctx: Context) -> object:
    """Add an item to a cart, and read the cart again."""
    cart = ctx.handles.get(str(arguments["cart"]), CARTS)
    written = ctx.handles.put(cart, {"items": [arguments["item"]]})
    return [ctx.handles.get(cart.id, CARTS).value, written.version, len(ctx.handles.list(CARTS))]


def _close_cart(arguments: JsonObject, ctx: Context) -> None:
    ctx.handles.delete(str(arguments["cart"]))


def _read_secret(arguments: JsonObject, _ctx: Context) -> Json:
    """Return the error code that AWS gives this executor for a secret, or "read"."""
    try:
        boto3.client("secretsmanager").get_secret_value(SecretId=str(arguments["secret"]))
    except ClientError as fault:
        return code_of(fault)
    return "read"


def _invoke(arguments: JsonObject, _ctx: Context) -> Json:
    """Invoke a Lambda function with an event, and return its answer or the error code that AWS gives this executor."""
    event = json.dumps(arguments["event"]).encode()
    try:
        answer = boto3.client("lambda").invoke(FunctionName=str(arguments["invoked"]), Payload=event)
    except ClientError as fault:
        return code_of(fault)
    return json.loads(answer["Payload"].read())


def _change(arguments: JsonObject, ctx: Context) -> Json:
    """Call a method of the context that changes what lists show or subscribers hear."""
    methods: Mapping[str, Callable[[str], Json]] = {
        "grant": ctx.grant,
        "revoke": ctx.revoke,
        "has_grant": ctx.has_grant,
        "changed": ctx.changed,
        "resource_updated": ctx.resource_updated,
    }
    return methods[str(arguments["does"])](str(arguments["what"]))


def _register(arguments: JsonObject, ctx: Context) -> Json:
    """Register a skill document of the caller's tenant."""
    return ctx.call("skills::register", arguments)


TRIALS: Mapping[str, Trial] = {
    "show": _show,
    "ask": _ask,
    "raise": _raise,
    "report": _report,
    "exit": lambda _arguments, _ctx: os._exit(1),
    # Not `exit(1)`: it closes standard input, through which the emulator (but not Lambda) talks to its processes.
    "quit": lambda _arguments, _ctx: sys.exit(1),
    "segfault": _segfault,
    "kill": lambda _arguments, _ctx: os.kill(os.getpid(), signal.SIGKILL),
    "slow": lambda arguments, _ctx: time.sleep(float(str(arguments["seconds"]))),
    "long": lambda arguments, _ctx: "x" * int(str(arguments["characters"])),
    "nan": lambda _arguments, _ctx: math.nan,
    "bytes": lambda _arguments, _ctx: b"bytes",
    "nested": _nested,
    "call": _call,
    "pin": _pin,
    "secret": _read_secret,
    "second": _second,
    "invoke": _invoke,
    "once": _once,
    "open_cart": _open_cart,
    "fill_cart": _fill_cart,
    "close_cart": _close_cart,
    "change": _change,
}


def _counted(trial: Trial) -> Trial:
    def run(arguments: JsonObject, ctx: Context) -> object:
        effect = arguments.get("effect")
        if isinstance(effect, str):
            effects.count(effect)
        return trial(arguments, ctx)

    return run


CALLEES: Mapping[str, Sequence[str]] = {"nested": ["trials::nested"], "call": ["trials::checked"]}
"""The functions that a trial calls, by its name."""
CHECKED_SCHEMA: JsonObject = {"type": "object", "properties": {"n": {"type": "integer"}}, "required": ["n"]}

handler = executor(
    *(
        Function(f"trials::{name}", _counted(trial), permissions=("mail", "web"), calls=CALLEES.get(name, ()))
        for name, trial in TRIALS.items()
    ),
    Function("trials::once_apart", _once, isolate=True),
    Function(
        "trials::checked",
        _counted(_show),
        input_schema=CHECKED_SCHEMA,
        permissions=("web", "write"),
        description="Returns the facts of its call.",
    ),
    Function("trials::register", _register, permissions=("signpost.admin",), calls=("skills::register",)),
)
