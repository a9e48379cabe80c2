"""Lint the CloudFormation form of the stack's template and of the template for authors' executors, and report how near
they are to limits of AWS. Lint also the templates of examples that need no translation.

Runs under the interpreter that has SAM's translator: `.tools/sam/bin/python -m local.lint`. `sam validate` checks the
SAM source and finds other faults; cfn-lint alone no longer translates SAM.
"""

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any, cast

# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownArgumentType=false
# The translator's pins conflict with the project's, so it is not in the environment that is type-checked.
from samtranslator.translator.transform import transform
from samtranslator.yaml_helper import yaml_parse

from local.limits import measure_template, report_measures

PROJECT = Path(__file__).resolve().parent.parent
REGION = "us-east-1"
TEMPLATES = ("template.yaml", "layers/shared/python/signpost/cli/executor_template.yaml")
PLAIN_TEMPLATES = ("examples/cloudfront/template.yaml",)
TRANSLATED = PROJECT / ".local"
ACCEPTED = {
    "W1030": "the linter tries the empty default of a parameter whose condition and Rule keep it from being used",
    "ES7000": "an e-mail that SNS could not deliver has no queue to wait in",
    "WS1004": "the rule looks for a log group named after the function; ours is named by LoggingConfig",
    "WS1000": "tracing by X-Ray is paid for per trace; the trace of a client comes in `_meta` and goes to the log",
}


class _NoManagedPolicies:
    """No managed policies of AWS: the translator needs them only for a template that names one, and ours do not."""

    def load(self) -> dict[str, str]:
        return {}


def _translate(template: str) -> dict[str, Any]:
    """Return the CloudFormation template that a SAM template is transformed to."""
    os.environ.setdefault("AWS_DEFAULT_REGION", REGION)  # the translator needs a region, and calls nothing in it
    source = yaml_parse((PROJECT / template).read_text())
    # The source has a local path where `sam package` puts an S3 address; the translator accepts an address only.
    for resource in source["Resources"].values():
        properties = resource.get("Properties", {})
        for uri in {"CodeUri", "ContentUri"} & set(properties):
            properties[uri] = "s3://bucket/key"
    return cast("dict[str, Any]", transform(source, {}, _NoManagedPolicies()))


def main() -> int:
    TRANSLATED.mkdir(exist_ok=True)
    files = [TRANSLATED / f"{Path(template).stem}.cloudformation.json" for template in TEMPLATES]
    is_within = True
    for template, file in zip(TEMPLATES, files, strict=True):
        translated = _translate(template)
        file.write_text(json.dumps(translated, indent=1))
        measures = measure_template(translated)
        print("\n".join(report_measures(template, measures)))
        is_within &= not any(measure.is_over for measure in measures)
    rules = ["--append-rules", "cfn_lint_serverless.rules", "--ignore-checks", *ACCEPTED]
    linted_files = [*files, *(PROJECT / template for template in PLAIN_TEMPLATES)]
    linted = subprocess.run(["cfn-lint", *map(str, linted_files), *rules, "--regions", REGION], check=False).returncode
    return linted or int(not is_within)


if __name__ == "__main__":
    sys.exit(main())
