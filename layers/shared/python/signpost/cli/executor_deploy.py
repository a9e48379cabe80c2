"""`signpost executors deploy`: deploys a folder as an executor, places it, and publishes the folder's content.

Everything that can be checked is checked first. The message about a failure says which of the three steps are done.
Each step may be repeated, so deploying again completes the others."""

import argparse
import json
from collections import Counter
from collections.abc import Generator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

from signpost.cli import executor_folders, remote, stack
from signpost.cli.executor_placing import place_executor
from signpost.cli.failure import CommandFailed
from signpost.cli.publish import checking
from signpost.cli.publish.files import read_folder_publication
from signpost.cli.publish.upload import SIGNS, ChangeLine, RemotePublisher
from signpost.cli.terminal import print_progress
from signpost.directory.load_tenants import TENANTS_TAG, name_tenant, tenants_without_consent, without_qualifier

if TYPE_CHECKING:
    from signpost.cli import Commands
    from signpost.cli.publish.collection import CollectedPublication
    from signpost.model import JsonObject

NOT_CHECKED = "Nothing was deployed. Fix it, and deploy again."
NOT_DEPLOYED = "Nothing was placed or published. Fix it, and deploy again."
NOT_PLACED = (
    "The Lambda function is deployed. Its functions were not placed, and nothing was published. Fix it, and deploy "
    "again."
)
NOT_PUBLISHED = (
    "The functions are deployed and placed. The documents, prompts and workflows of {folder} were not published. Fix "
    "it, and deploy again; `signpost publish {folder}` publishes them alone."
)
DESCRIPTION = (
    "Deploys a folder with an app.py as an executor, places it, and publishes the content of the folder as `signpost "
    "publish` does: skills/**/*.md, prompts.yaml, triggers.yaml, webhooks.yaml, manifests. All of it is checked first."
)


def register(actions: "Commands") -> argparse.ArgumentParser:
    deploying = actions.add_parser(
        "deploy", help="deploy a folder with an app.py as an executor, place it, and publish", description=DESCRIPTION
    )
    deploying.add_argument("--no-publish", action="store_true", help="publish nothing of the folder")
    deploying.add_argument(
        "--prune", action="store_true", help="remove entries of the tenant that the published folder does not have"
    )
    checking.add_options(deploying)
    deploying.set_defaults(handler=_deploy)
    return deploying


def _deploy(arguments: argparse.Namespace) -> int:
    folder: Path = arguments.folder
    name = executor_folders.stack_name(folder, arguments.stack)
    parameters = dict(stack.read_executor_parameters(arguments.stack))
    url, allowed = parameters.pop("McpUrl"), parameters.pop("ExecutorFunctions")
    executor_folders.check_allowed(name, parameters["NestedCallsFunctionArn"], allowed)
    executor_folders.check_has_app(folder)
    with _add_advice(NOT_CHECKED):
        publication = _check_content(arguments)
    with _add_advice(NOT_DEPLOYED):
        _deploy_stack(arguments, name, parameters)
    with _add_advice(NOT_PLACED):
        functions = place_executor(arguments.stack, name, arguments.tenant, strict=arguments.strict)
    published: JsonObject = {}
    if publication is not None:
        with _add_advice(NOT_PUBLISHED.format(folder=folder)):
            published = {"published": _publish(publication, arguments)}
    placed = {"tenant": arguments.tenant, "functions": sorted(hosted.function for hosted in functions)}
    print(json.dumps({**placed, **published}))
    print_progress(f"Its tools are at {url}/flat within two seconds.")
    return 0


def _check_content(arguments: argparse.Namespace) -> "CollectedPublication | None":
    """Read the content of the folder and have the registry judge its publication, before anything is deployed. The
    functions of the folder follow, so names of functions are judged when these are placed."""
    if arguments.no_publish:
        return None
    publication = read_folder_publication(arguments.folder, checking.rules_of(arguments))
    if publication is None:
        return None
    for warning in publication.warnings:
        print_progress(warning)
    with remote.connect_registry(arguments.stack, None, print_progress) as call_registry:
        publisher = RemotePublisher(call_registry, show_line=print_progress)
        planned = publisher.plan(publication, prune=arguments.prune, tenant=arguments.tenant, functions_follow=True)
        publisher.preview(publication, planned, prune=arguments.prune, functions_follow=True)
    return publication


def _deploy_stack(arguments: argparse.Namespace, name: str, parameters: Mapping[str, str]) -> None:
    # Templates that an earlier release wrote know the nested calls function as the gateway.
    nested_calls = parameters["NestedCallsFunctionArn"]
    tenants = " ".join(_name_tenants(arguments, executor_folders.arn_of(name, nested_calls)))
    if executor_folders.write_template(arguments.folder):
        print_progress(f"+ {arguments.folder / executor_folders.TEMPLATE} (edit it as you like)")
    print_progress(f"deploying the stack {name}")
    all_parameters = {**parameters, "GatewayFunctionArn": nested_calls, "Tenants": tenants}
    executor_folders.deploy(arguments.folder, name, all_parameters, print_progress)


def _publish(publication: "CollectedPublication", arguments: argparse.Namespace) -> "JsonObject":
    """Publish the content, and return the number of changes of each kind. The plan is made again: others may have
    published meanwhile."""
    with remote.connect_registry(arguments.stack, None, print_progress) as call_registry:
        publisher = RemotePublisher(call_registry, show_line=print_progress)
        planned = publisher.plan(publication, prune=arguments.prune, tenant=arguments.tenant)
        for change in planned:
            print_progress(f"{change.sign} {change.name}")
        publisher.publish(publication, planned, prune=arguments.prune)
    return _count_changes(planned)


def _count_changes(planned: Sequence[ChangeLine]) -> "JsonObject":
    counts = Counter(change.sign for change in planned)
    return {kind: counts[sign] for kind, sign in SIGNS.items()}


@contextmanager
def _add_advice(advice: str) -> Generator[None]:
    """Add to the message of a failure which steps are done, which are not, and how to go on."""
    try:
        yield
    except CommandFailed as fault:
        raise CommandFailed(f"{str(fault).rstrip('.')}.\n{advice}") from fault


def _name_tenants(arguments: argparse.Namespace, arn: str) -> Sequence[str]:
    """Return the tenants of the executor's tag: those that it names already, and the one for which it is deployed.
    Print the tenants for which the executor is placed without being named."""
    with stack.open_adapters(arguments.stack) as adapters:
        tag = adapters.executor_tags.find_tag(arn, TENANTS_TAG)
        placed = [
            item.tenant for item in adapters.directory.list_placed() if without_qualifier(item.executor.arn) == arn
        ]
    named = name_tenant(tag, arguments.tenant)
    for tenant in tenants_without_consent(named, placed):
        print_progress(
            f"The executor is placed for the tenant {tenant}, which its tag {TENANTS_TAG} does not name. What is "
            f"placed stays, and administrators of {tenant} cannot load or reload it. To permit that, deploy it with "
            f"--tenant {tenant} as well."
        )
    return named
