"""`signpost login`, `signpost token` and `signpost logout`: get, print and delete a person's tokens for one server."""

import time
from argparse import ArgumentParser, Namespace
from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from signpost.cli import Commands
    from signpost.cli.login.flow import LoginSession

LAPTOP_URL = "http://localhost:8765/mcp"
PATIENCE = 300  # seconds


def register(commands: "Commands") -> None:
    login = _add_command(commands, "login", "log in to a server with the browser", _login)
    login.add_argument("--client-id", default="signpost-cli", help="this program's name at the identity provider")
    login.add_argument("--no-browser", action="store_true", help="print the address of the page, do not open it")
    _add_command(commands, "token", "print a valid access token, refreshed if necessary", _token)
    _add_command(commands, "logout", "delete the stored tokens of a server", _logout)


def _add_command(commands: "Commands", name: str, purpose: str, handler: Callable[[Namespace], int]) -> ArgumentParser:
    command = commands.add_parser(name, help=purpose)
    command.add_argument("--url", default=LAPTOP_URL, help="the server's MCP endpoint (default: %(default)s)")
    command.set_defaults(handler=handler)
    return command


def _login(arguments: Namespace) -> int:
    show = _print_page if arguments.no_browser else _open_page
    _open_session().log_in(arguments.url, arguments.client_id, show)
    print(f"You are logged in to {arguments.url}.")
    return 0


def _token(arguments: Namespace) -> int:
    print(_open_session().access_token(arguments.url))
    return 0


def _logout(arguments: Namespace) -> int:
    was_logged_in = _open_session().log_out(arguments.url)
    print(f"You are logged out of {arguments.url}." if was_logged_in else f"You were not logged in to {arguments.url}.")
    return 0


def _open_session() -> "LoginSession":
    # Importing HTTP and TLS takes longer than any other command needs to print its help.
    from signpost.cli.login.flow import LoginSession  # noqa: PLC0415  # see above
    from signpost.cli.login.token_store import TokenStore, default_path  # noqa: PLC0415  # see above

    return LoginSession(TokenStore(default_path()), time.time, PATIENCE)


def _print_page(page: str) -> None:
    print(f"Open this page to log in (within {PATIENCE // 60} minutes):\n\n  {page}\n", flush=True)


def _open_page(page: str) -> None:
    import webbrowser  # noqa: PLC0415  # only a login with a browser needs it

    _print_page(page)
    webbrowser.open(page)
