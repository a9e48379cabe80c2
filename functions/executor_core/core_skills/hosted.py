"""Everything that the core executor hosts, with what stands behind it in an AWS account."""

from collections.abc import Mapping, Sequence

from core_skills.http_fetch import http_fetch
from core_skills.json_transform import JSON_TRANSFORM
from core_skills.outside import outside
from core_skills.template_render import TEMPLATE_RENDER
from core_skills.waiting import WAIT
from signpost.adapters.egress import dialled, resolved
from signpost.toolkit import Function


def core_functions(environment: Mapping[str, str]) -> Sequence[Function]:
    web = outside(environment, resolve=resolved, dial=dialled)
    return [WAIT, http_fetch(web), JSON_TRANSFORM, TEMPLATE_RENDER]
