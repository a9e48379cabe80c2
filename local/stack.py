"""Build the template and deploy it to an emulator, with the same `sam` commands as on AWS."""

import contextlib
import fcntl
import platform
import time
from collections.abc import Generator, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import boto3
from botocore.config import Config
from botocore.exceptions import ClientError

from local.emulator import PROJECT, REGION, Emulator
from local.errors import CloudError
from local.progress import Progress
from local.sam import format_override, run_sam, tool_environment
from local.sources import digest_of_files, digest_of_pairs

if TYPE_CHECKING:
    from mypy_boto3_cloudformation import CloudFormationClient
    from mypy_boto3_cloudformation.type_defs import StackTypeDef

type Variant = Literal["product", "test"]

BUILD_DIRECTORIES: Mapping[Variant, str] = {"product": ".aws-sam/build", "test": ".aws-sam/test"}

_SOURCES = (
    "template.yaml",
    "samconfig.toml",
    "functions",
    "layers",
)
_TEST_SOURCES = (*_SOURCES, "tests/stage")
_DIGEST_TAG = "source-digest"
_CODE_PREFIX = "code"
"""Where `sam deploy` uploads code: the same code once, whichever stack it is for."""
_SAM_STACK = "aws-sam-cli-managed-default"
"""The stack of the bucket into which `sam deploy` uploads code."""
_DEPLOYED = ("CREATE_COMPLETE", "UPDATE_COMPLETE")
_SECONDS_TO_SETTLE = 20.0
_SECONDS_TO_CREATE = 600.0
_POLL_SECONDS = 0.2
_POLLS = {"SAM_CLI_POLL_DELAY": "0.2"}
"""SAM's poll interval: the emulator changes a stack in a second, and sam polls every five seconds by default."""


@dataclass(frozen=True, slots=True)
class Build:
    """The output folder of `sam build`, and the digest of its sources."""

    directory: Path
    digest: str

    @property
    def template(self) -> Path:
        """The template to deploy."""
        return self.directory / "template.yaml"


@dataclass(frozen=True, slots=True)
class DeployedStack:
    """A deployed stack, with its outputs and the environment of its AWS clients."""

    name: str
    outputs: Mapping[str, str]
    environment: Mapping[str, str]


def machine_architecture() -> str:
    """Return this machine's architecture under its name on AWS."""
    return "arm64" if platform.machine().lower() in ("arm64", "aarch64") else "x86_64"


def build(variant: Variant, *, log: Path, progress: Progress, project: Path = PROJECT) -> Build:
    """Build the functions and their layer, unless the present sources of the project have been built already."""
    directory = project / BUILD_DIRECTORIES[variant]
    with _build_lock(project):
        digest = source_digest(variant, project)
        # Every `sam build` empties the directory, so a stamp inside it is never older than the build.
        stamp = directory / ".source-digest"
        if not stamp.exists() or stamp.read_text() != digest:
            with progress.step(f"building the functions ({machine_architecture()})") as step:
                run_sam(_build_arguments(variant), _build_environment(variant), log, step, folder=project)
            stamp.write_text(digest)
    return Build(directory, digest)


def deploy(
    emulator: Emulator,
    stack_name: str,
    build: Build,
    parameters: Mapping[str, str],
    *,
    log: Path,
    progress: Progress,
) -> DeployedStack:
    """Deploy a build with these parameters, unless exactly that is deployed already."""
    digest = _digest_deployment(build, parameters)
    if not _is_deployed(emulator, stack_name, digest):
        with progress.step(f"deploying the stack {stack_name}") as step:
            _clear_failed_creation(emulator, stack_name)
            try:
                arguments = _deploy_arguments(stack_name, build, parameters, digest)
                run_sam(arguments, {**tool_environment(), **emulator.environment(), **_POLLS}, log, step)
            finally:
                # When sam is interrupted, the emulator continues the change, and it must not save a half-changed stack.
                _wait_until_settled(emulator, stack_name)
    _enable_time_to_live(emulator, stack_name)
    return find_stack(emulator, stack_name)


def upload_template(emulator: Emulator, stack_name: str, build: Build) -> str:
    """Store the template of a deployed build, which names the uploaded code, beside that code. Return its address."""
    template = _cloudformation(emulator).get_template(StackName=stack_name, TemplateStage="Original")
    bucket, key = find_stack(emulator, _SAM_STACK).outputs["SourceBucket"], f"templates/{build.digest}.yaml"
    session, config = client_settings(emulator)
    s3 = session.client("s3", endpoint_url=emulator.url, config=config)
    s3.put_object(Bucket=bucket, Key=key, Body=str(template.get("TemplateBody", "")).encode())
    return f"{emulator.url}/{bucket}/{key}"


def deploy_uploaded(
    emulator: Emulator, stack_name: str, template_url: str, build: Build, parameters: Mapping[str, str]
) -> DeployedStack:
    """Create a stack from the uploaded template of another stack of the build, without packing its code again."""
    client = _cloudformation(emulator)
    try:
        client.create_stack(
            StackName=stack_name,
            TemplateURL=template_url,
            Parameters=[{"ParameterKey": name, "ParameterValue": value} for name, value in parameters.items()],
            Capabilities=["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"],
            Tags=[{"Key": _DIGEST_TAG, "Value": _digest_deployment(build, parameters)}],
        )
    except ClientError as error:
        raise CloudError(f"The stack {stack_name} cannot be created: {error}") from error
    _wait_until_settled(emulator, stack_name, _SECONDS_TO_CREATE)
    stack = _describe(emulator, stack_name)
    if stack is None or stack["StackStatus"] not in _DEPLOYED:
        failed = [
            f"{event.get('LogicalResourceId')}: {event.get('ResourceStatusReason')}"
            for event in client.describe_stack_events(StackName=stack_name)["StackEvents"]
            if event.get("ResourceStatus", "").endswith("_FAILED")
        ]
        raise CloudError(f"The stack {stack_name} was not created.\n{'\n'.join(failed)}")
    _enable_time_to_live(emulator, stack_name)
    return find_stack(emulator, stack_name)


def _digest_deployment(build: Build, parameters: Mapping[str, str]) -> str:
    return digest_of_pairs({"": build.digest, **parameters})


def find_stack(emulator: Emulator, stack_name: str) -> DeployedStack:
    """Return a deployed stack, or raise an error if it is not deployed."""
    stack = _describe(emulator, stack_name)
    if stack is None or stack["StackStatus"] not in _DEPLOYED:
        raise CloudError(f"The stack {stack_name} is not deployed.")
    outputs = {output.get("OutputKey", ""): output.get("OutputValue", "") for output in stack.get("Outputs", [])}
    return DeployedStack(stack_name, outputs, emulator.environment())


def resource_names(emulator: Emulator, stack_name: str) -> Mapping[str, str]:
    """Return the physical ids of the resources of a deployed stack, by logical id."""
    return {logical_id: name for logical_id, _, name in _resources(emulator, stack_name)}


def source_digest(variant: Variant, project: Path = PROJECT) -> str:
    """Return the digest of the sources and settings of a build of this variant."""
    sources = digest_of_files(project, _TEST_SOURCES if variant == "test" else _SOURCES)
    return digest_of_pairs({"sources": sources, "architecture": machine_architecture(), "variant": variant})


def client_settings(emulator: Emulator) -> tuple[boto3.Session, Config]:
    """Return a session and timeouts for clients of one emulator. The process's environment does not change them."""
    environment = emulator.environment()
    session = boto3.Session(
        aws_access_key_id=environment["AWS_ACCESS_KEY_ID"],
        aws_secret_access_key=environment["AWS_SECRET_ACCESS_KEY"],
        region_name=REGION,
    )
    return session, Config(connect_timeout=1, read_timeout=30, retries={"total_max_attempts": 1})


@contextlib.contextmanager
def _build_lock(project: Path) -> Generator[None]:
    # sam keeps one build.toml for all build directories, so builds of different variants must not run at once.
    lock = project / ".aws-sam/local.lock"
    lock.parent.mkdir(exist_ok=True)
    with lock.open("w") as lock_file:
        fcntl.flock(lock_file, fcntl.LOCK_EX)
        yield


def _build_arguments(variant: Variant) -> list[str]:
    return [
        "build",
        *("--template-file", "template.yaml"),
        *("--build-dir", BUILD_DIRECTORIES[variant]),
        *("--config-env", "default"),
        *("--parameter-overrides", f"Architecture={machine_architecture()}"),
    ]


def _build_environment(variant: Variant) -> dict[str, str]:
    stage = {"SIGNPOST_STAGE": "test"} if variant == "test" else {}
    return {**tool_environment(), **stage}


def _deploy_arguments(name: str, build: Build, parameters: Mapping[str, str], digest: str) -> list[str]:
    return [
        "deploy",
        *("--template-file", str(build.template)),
        *("--stack-name", name),
        *("--s3-prefix", _CODE_PREFIX),
        *("--config-env", "default"),
        *("--region", REGION),
        *("--capabilities", "CAPABILITY_IAM"),
        *("--tags", f"{_DIGEST_TAG}={digest}"),
        *("--resolve-s3", "--no-confirm-changeset", "--no-fail-on-empty-changeset", "--no-progressbar"),
        *("--parameter-overrides", *(format_override(name, value) for name, value in parameters.items())),
    ]


def _cloudformation(emulator: Emulator) -> "CloudFormationClient":
    session, config = client_settings(emulator)
    return session.client("cloudformation", endpoint_url=emulator.url, config=config)


def _describe(emulator: Emulator, stack_name: str) -> "StackTypeDef | None":
    try:
        return _cloudformation(emulator).describe_stacks(StackName=stack_name)["Stacks"][0]
    except ClientError as error:
        if error.response.get("Error", {}).get("Code") == "ValidationError":  # CloudFormation's "does not exist"
            return None
        raise


def _is_deployed(emulator: Emulator, stack_name: str, digest: str) -> bool:
    stack = _describe(emulator, stack_name)
    if stack is None or stack["StackStatus"] not in _DEPLOYED:
        return False
    return {"Key": _DIGEST_TAG, "Value": digest} in stack.get("Tags", [])


def _clear_failed_creation(emulator: Emulator, stack_name: str) -> None:
    # CloudFormation accepts no change to a stack that failed to be created. Such a stack has no data yet.
    stack = _describe(emulator, stack_name)
    if stack is not None and stack["StackStatus"] in ("CREATE_FAILED", "ROLLBACK_COMPLETE", "ROLLBACK_FAILED"):
        client = _cloudformation(emulator)
        client.delete_stack(StackName=stack_name)
        _wait_until_settled(emulator, stack_name)


def _wait_until_settled(emulator: Emulator, stack_name: str, seconds: float = _SECONDS_TO_SETTLE) -> None:
    deadline = time.monotonic() + seconds
    while emulator.is_alive and time.monotonic() < deadline:
        stack = _describe(emulator, stack_name)
        status = stack["StackStatus"] if stack else ""
        if not status.endswith("_IN_PROGRESS") or status == "REVIEW_IN_PROGRESS":
            return
        time.sleep(_POLL_SECONDS)


def _enable_time_to_live(emulator: Emulator, stack_name: str) -> None:
    # The emulator's CloudFormation ignores TimeToLiveSpecification; its DynamoDB supports it.
    session, config = client_settings(emulator)
    dynamodb = session.client("dynamodb", endpoint_url=emulator.url, config=config)
    for table in _tables(emulator, stack_name):
        current = dynamodb.describe_time_to_live(TableName=table)["TimeToLiveDescription"]
        if current.get("TimeToLiveStatus") != "ENABLED":
            dynamodb.update_time_to_live(
                TableName=table, TimeToLiveSpecification={"AttributeName": "expires_at", "Enabled": True}
            )


def _tables(emulator: Emulator, stack_name: str) -> list[str]:
    return [name for _, kind, name in _resources(emulator, stack_name) if kind == "AWS::DynamoDB::Table"]


def _resources(emulator: Emulator, stack_name: str) -> Iterator[tuple[str, str, str]]:
    """Yield logical id, type and physical id of each resource."""
    for resource in _cloudformation(emulator).describe_stack_resources(StackName=stack_name)["StackResources"]:
        yield resource["LogicalResourceId"], resource["ResourceType"], resource.get("PhysicalResourceId", "")
