"""The toolkits of the core executor, with their adapters in an AWS account."""

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

from core_skills import json_transform, template_render, waiting
from core_skills.http_fetch import http_fetch
from core_skills.outside import build_guarded_web
from core_skills.search_key import SearchKey
from core_skills.web_search import Search, web_search
from signpost.adapters.clock import SystemClock
from signpost.adapters.egress import open_connection, resolve_host
from signpost.toolkit import Toolkit

if TYPE_CHECKING:
    from mypy_boto3_secretsmanager import SecretsManagerClient


def core_toolkits(environment: Mapping[str, str]) -> Sequence[Toolkit]:
    web = build_guarded_web(environment, resolve=resolve_host, dial=open_connection)
    return [
        waiting.KIT,
        http_fetch(web),
        json_transform.KIT,
        template_render.KIT,
        web_search(_search(environment), web),
    ]


def _search(environment: Mapping[str, str]) -> Search:
    key = SearchKey(_secrets, environment.get("SEARCH_KEY_SECRET_ARN", ""), SystemClock())
    return Search(environment.get("SEARCH_PROVIDER", "none"), environment.get("SEARCH_ENDPOINT", ""), key)


def _secrets() -> "SecretsManagerClient":
    # Imported at the first search.
    import boto3  # noqa: PLC0415
    from botocore.config import Config  # noqa: PLC0415 - as above

    client_config = Config(connect_timeout=1, read_timeout=3, retries={"total_max_attempts": 3, "mode": "standard"})
    return boto3.client("secretsmanager", config=client_config)
