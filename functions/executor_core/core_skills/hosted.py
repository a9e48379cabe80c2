"""Everything that the core executor hosts, with what stands behind it in an AWS account."""

from collections.abc import Sequence

from core_skills.json_transform import JSON_TRANSFORM
from core_skills.template_render import TEMPLATE_RENDER
from core_skills.waiting import WAIT
from signpost.toolkit import Function


def core_functions(_: object) -> Sequence[Function]:
    return [WAIT, JSON_TRANSFORM, TEMPLATE_RENDER]
