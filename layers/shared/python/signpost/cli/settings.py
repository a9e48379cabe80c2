"""`signpost settings`: lists, sets and unsets the runtime settings of functions, tenants and all tenants."""

import argparse
import json
from typing import TYPE_CHECKING

from signpost.calling.lookup import may_exist
from signpost.calling.runtime_settings import SETTINGS, parse_value, placement_of, problem_with
from signpost.cli import stack
from signpost.cli.failure import CommandFailed
from signpost.cli.terminal import print_progress
from signpost.spelling import build_suggestion

if TYPE_CHECKING:
    from signpost.calling.ports import FunctionStates, PlacedFunctions
    from signpost.cli import Commands
    from signpost.contract import Placement
    from signpost.model import SettingValue


def register(commands: "Commands") -> None:
    parser = commands.add_parser("settings", help="list and change the runtime settings of a tenant and its functions")
    actions = parser.add_subparsers(required=True, metavar="ACTION")
    listing = actions.add_parser("list", help="list the settings of a tenant and its functions")
    listing.set_defaults(handler=_list)
    setting = actions.add_parser(
        "set",
        help="change a setting of a function, or of a whole tenant",
        formatter_class=argparse.RawDescriptionHelpFormatter,
        epilog=_settings_help(),
    )
    setting.add_argument("name", help="see below")
    setting.add_argument("value", help="a number or a text, see below; switches are 0 or 1")
    setting.set_defaults(handler=_set)
    unsetting = actions.add_parser("unset", help="remove a setting: the tenant's value or the default applies again")
    unsetting.add_argument("name", help="from `signpost settings list`")
    unsetting.set_defaults(handler=_unset)
    for action in actions.choices.values():
        scope = action.add_mutually_exclusive_group()
        scope.add_argument(
            "--function", type=parse_function_id, metavar="ID", help="only for this function, for example email::send"
        )
        scope.add_argument(
            "--all-tenants",
            action="store_true",
            help="for every tenant that sets nothing itself, instead of one tenant",
        )
        stack.add_tenant_option(action)
        stack.add_option(action)


def parse_function_id(text: str) -> str:
    if not may_exist(text):
        raise argparse.ArgumentTypeError(f"a function id is written like email::send, not {text!r}")
    return text


def _list(arguments: argparse.Namespace) -> int:
    with stack.open_adapters(arguments.stack) as adapters:
        by_function = adapters.settings.of_tenant(_tenant_of(arguments))
    for name in sorted(by_function, key=lambda name: name or ""):
        if arguments.function in (None, name):
            for setting, value in by_function[name].items():
                print(_row(name, setting, value))
    return 0


def _set(arguments: argparse.Namespace) -> int:
    with stack.open_adapters(arguments.stack) as adapters:
        placement = _placement(adapters.functions, arguments.tenant, arguments.function)
        if arguments.function is not None and placement is None:
            print_progress(_describe_missing_function(adapters.placed_functions, arguments.tenant, arguments.function))
        value = parse_value(arguments.name, arguments.value)
        problem = problem_with(
            arguments.name,
            value,
            function=arguments.function,
            placement=placement,
            for_all_tenants=arguments.all_tenants,
        )
        if problem is not None:
            raise CommandFailed(problem)
        adapters.settings.set(_tenant_of(arguments), arguments.function, arguments.name, value)
    print(_row(arguments.function, arguments.name, value))
    return 0


def _unset(arguments: argparse.Namespace) -> int:
    """Remove a setting. Any name is accepted, so that settings of older releases can be removed."""
    with stack.open_adapters(arguments.stack) as adapters:
        tenant = _tenant_of(arguments)
        current = adapters.settings.of_tenant(tenant).get(arguments.function, {})
        if arguments.name not in current:
            of_tenant = "all tenants" if tenant is None else f"tenant {tenant}"
            owner = f"function {arguments.function}" if arguments.function else of_tenant
            raise CommandFailed(f"{arguments.name} is not set for {owner}. See `signpost settings list`.")
        adapters.settings.unset(tenant, arguments.function, arguments.name)
    print(_row(arguments.function, arguments.name, None))
    return 0


def _tenant_of(arguments: argparse.Namespace) -> str | None:
    """Return the tenant to set; None for all tenants."""
    return None if arguments.all_tenants else arguments.tenant


def _placement(functions: "FunctionStates", tenant: str, name: str | None) -> "Placement | None":
    return placement_of(functions.read(tenant, name)) if name is not None else None


def _describe_missing_function(functions: "PlacedFunctions", tenant: str, function: str) -> str:
    """Say that nothing reads the setting yet, with the function that was probably meant."""
    hosted = (*functions.functions(tenant), *functions.functions(None))
    hint = build_suggestion(function, [one.function for one in hosted])
    return f"warning: no executor hosts {function} for {tenant}, so the setting has no effect until one does.{hint}"


def _row(name: str | None, setting: str, value: "SettingValue | None") -> str:
    return json.dumps({"function": name, "setting": setting, "value": value})


def _settings_help() -> str:
    lines = (
        f"  {name}  {setting.form}, by default {setting.default if setting.default != '' else 'none'}: {setting.says}"
        for name, setting in SETTINGS.items()
    )
    return "\n".join(("settings:", *lines))
