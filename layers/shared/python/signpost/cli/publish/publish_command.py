"""`signpost publish`: publishes the files of an author to the registry."""

import argparse
import json
from collections import Counter
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING

from signpost import __version__
from signpost.cli import remote, stack
from signpost.cli.failure import CommandFailed
from signpost.cli.publish import checking, config
from signpost.cli.publish.files import read_publication
from signpost.cli.publish.upload import SIGNS, ChangeLine, RemotePublisher
from signpost.cli.terminal import print_progress

if TYPE_CHECKING:
    from signpost.cli import Commands
    from signpost.model import Json, JsonObject

CONFIG_FILE = "config.yaml"
DESCRIPTION = (
    "Publishes a folder (skills/**/*.md, prompts.yaml, triggers.yaml, webhooks.yaml, manifests), a folder or an "
    "archive of Agent Skills (SKILL.md and files), or a manifest file. It is checked first, as by `signpost check`, "
    "and takes effect as a whole or not at all. "
    "Each line of the answer is a document, a prompt, a workflow …: + added, ~ changed, = the same, - removed. "
    f"With an API key or an access token in {remote.AUTHORIZATION} it publishes for the tenant of that credential."
)


def register(commands: "Commands") -> None:
    parser = commands.add_parser(
        "publish", help="publish skill documents, prompts and workflows", description=DESCRIPTION
    )
    parser.add_argument(
        "path", nargs="?", type=Path, help="a folder, a .zip or .tar.gz of Agent Skills, or a manifest in YAML or JSON"
    )
    parser.add_argument("--prune", action="store_true", help="remove entries of the tenant that the path does not have")
    parser.add_argument("--dry-run", action="store_true", help="print the changes, and publish nothing")
    checking.add_options(parser)
    stack.add_option(parser)
    parser.add_argument("--url", help="endpoint of AWS, for a laptop cloud (default: AWS_ENDPOINT_URL)")
    parser.add_argument("--config", type=Path, help=f"configuration file (default: ./{CONFIG_FILE}, if there is one)")
    parser.add_argument(
        "--manifest", action="store_true", help="print a description of this command as JSON and do nothing"
    )

    def run(arguments: argparse.Namespace) -> int:
        return _describe(parser) if arguments.manifest else _publish(arguments)

    parser.set_defaults(handler=run)


def _publish(arguments: argparse.Namespace) -> int:
    if arguments.path is None:
        raise CommandFailed("The path is missing: give a folder or a manifest file. `.` is the current folder.")
    _configure(arguments.config)
    publication = read_publication(arguments.path, checking.rules_of(arguments))
    for warning in publication.warnings:
        print_progress(warning)
    with remote.connect_registry(arguments.stack, arguments.url, print_progress) as call_registry:
        publisher = RemotePublisher(call_registry, show_line=print_progress)
        planned = publisher.plan(publication, prune=arguments.prune)
        for change in planned:
            print(f"{change.sign} {change.name}")
        if arguments.dry_run:
            publisher.preview(publication, planned, prune=arguments.prune)
        else:
            publisher.publish(publication, planned, prune=arguments.prune)
    print(f"{'would be ' if arguments.dry_run else ''}published: {_summarize(planned)}")
    return 0


def _configure(path: Path | None) -> None:
    """Check the configuration file that the skills document describes, if there is one.

    Its settings belong to the tenant or to the deployment here, so each setting that is not the default only leads to a
    warning."""
    config_path = path or Path(CONFIG_FILE)
    if path is None and not config_path.exists():
        return
    configuration = config.read_config(config_path, lambda message: print_progress(f"warning: {message}"))
    if configuration.state_timeout_ms != config.DEFAULTS.state_timeout_ms:
        value = configuration.state_timeout_ms
        advice = f"Set it for the tenant: `signpost settings set state_timeout_ms {value}`."
        print_progress(f"warning: state_timeout_ms is ignored here. {advice}")
    if configuration.scopes != config.DEFAULTS.scopes:
        advice = "Set the parameters SkillsScope and PromptsScope of the deployment."
        print_progress(f"warning: scopes are ignored here. {advice}")


def _summarize(planned: Sequence[ChangeLine]) -> str:
    counts = Counter(change.sign for change in planned)
    return ", ".join(f"{counts[sign]} {change_kind}" for change_kind, sign in SIGNS.items())


def _describe(parser: argparse.ArgumentParser) -> int:
    options: list[Json] = [
        {"name": action.option_strings[-1] if action.option_strings else action.dest, "description": action.help}
        for action in parser._actions  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - argparse lists them nowhere else
    ]
    described: JsonObject = {
        "name": "signpost publish",
        "version": __version__,
        "description": DESCRIPTION,
        "default_config": asdict(config.DEFAULTS),
        "supported_targets": ["any"],
        "options": options,
    }
    print(json.dumps(described, indent=2))
    return 0
