"""The file for SAM's option --env-vars: the variables of functions that SAM cannot resolve, and the emulator's address.

SAM gives a function the logical ids of resources, and for some attributes an empty text. Of its variables only those of
this file outrank the shell's, so a call of AWS goes to the emulator even if the shell has credentials of an account.
"""

from collections.abc import Mapping

from local.account import Account
from local.built import BuiltTemplate
from local.json_values import JsonObject
from local.project import placeholder_names

ENDPOINT = "AWS_ENDPOINT_URL"


def deployed_variables(deployed: Mapping[str, Mapping[str, str]], template: BuiltTemplate, endpoint: str) -> JsonObject:
    """Return the content of the file: for each function the variables that name resources, as they were deployed.

    `deployed` has all variables of each function by its logical id. Variables that come from parameters stay out of the
    file, so that --parameter-overrides has an effect on them.
    """
    return {
        function: {
            **{name: variables[name] for name in sorted(_naming_resources(template, function)) if name in variables},
            ENDPOINT: endpoint,
        }
        for function, variables in deployed.items()
    }


def _naming_resources(template: BuiltTemplate, function: str) -> set[str]:
    """Return the variables whose value is the name of a resource. An address with such a name may be a parameter."""
    environment = template.function(function, {}, placeholder_names(template, Account())).environment
    return {name for name, value in environment.items() if value in template.logical_ids()}
