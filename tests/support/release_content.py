"""Content of a tenant that an earlier release stores: documents, workflows, rules, subscriptions, functions."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from local.stack import machine_architecture
from tests.support.laptop import Laptop, Stack

TENANT = "default"
"""The tenant of the operator, for which a registry invocation without a credential publishes."""
MANIFEST_NAME = "manifest.yaml"
EXECUTOR = "earlier-executor"
"""The name of the executor, and of its stack."""
CODE = """
import os
from signpost.toolkit import Function, ToolError, executor

def book(arguments):
    if os.environ["SHOP"] == "shut":
        raise ToolError("The shop is shut.", kind="transient_error")
    return {"booked": arguments["item"]}

def burn():
    os._exit(1)

def greet(arguments):
    return f"Greet {arguments.get('name', 'the reader')}."

def visitor(arguments, ctx):
    return f"# Visitor of {ctx.principal.tenant}"

ITEM = {"type": "object", "properties": {"item": {"type": "string"}}, "required": ["item"]}
handler = executor(
    Function("orders::book", book, input_schema=ITEM, timeout_ms=3000, description="Books an item."),
    Function("orders::burn", burn, timeout_ms=3000),
    Function("orders::greet", greet),
    Function("orders::visitor", visitor, annotations={"readOnlyHint": True}),
)
"""
"""Code for the toolkit of the earlier release. The layer of that release stays with the executor."""
DOCUMENTS: Mapping[str, str] = {
    "skills/handbook/index.md": "# Handbook\n\nRead before the first day.\n\n[Visitor](iii://fn/orders/visitor)\n",
    "skills/handbook/mail.md": f"# Mail\n\nHow mail is sent.\n\n{'Ä long line. ' * 400}\n",
    "skills/office/SKILL.md": "---\nname: office\ndescription: Forms of the office.\n---\n\nSee references/FORMS.md.\n",
    "skills/office/references/FORMS.md": "Form 7, Form 8.\n",
    "prompts.yaml": (
        "- name: hello\n  description: Composes a greeting.\n  function_id: orders::greet\n  arguments:\n"
        "    - { name: name, description: The reader, required: false }\n"
    ),
    "triggers.yaml": "- trigger_type: skills::on-change\n  function_id: orders::greet\n",
    "webhooks.yaml": "- trigger_type: skills::on-change\n  url: https://hooks.example.com/signpost\n",
}
MANIFEST = """
version: 1
capabilities:
  notes.add: {title: Add a note, inputSchema: {type: object, properties: {note: {type: string}}}}
proxy: {expose: [{capability: notes.add}]}
policies:
  no-shell: {kind: deny, who: ["role:guest"], what: ["skill:shell*"]}
workflows:
  purchase:
    title: Buy something
    initialState: draft
    states:
      draft:
        transitions:
          ask:
            target: asked
            inputSchema: {type: object, properties: {item: {type: string}}, required: [item]}
            executor: {kind: human, queue: purchases, shows: [item]}
            output: {item: $.arguments.item}
      asked:
        transitions:
          approve:
            target: asked
            actor: human
            decision: approve
            branches:
              - when: {kind: evidence, requires: [{kind: human_approval, count: 2, distinct: true}]}
                target: bought
          refuse: {target: draft, actor: human, decision: reject}
      bought: {terminal: true}
  review:
    title: Review a text
    initialState: draft
    states:
      draft: {transitions: {ask: {target: asked, executor: {kind: human}}}}
      asked:
        transitions:
          approve:
            target: asked
            actor: human
            decision: approve
            inputSchema: {type: object, properties: {note: {type: string}}}
            output: {note: $.arguments.note}
            branches:
              - when: {kind: evidence, requires: [{kind: human_approval, count: 2, distinct: true}]}
                target: agreed
          ask_again: {target: asked, executor: {kind: human}}
      agreed: {terminal: true}
  order:
    title: Order an item
    initialState: open
    states:
      open:
        transitions:
          book:
            target: booked
            inputSchema: {type: object, properties: {item: {type: string}}, required: [item]}
            executor: {kind: function, function: "orders::book"}
            reliability: {retry: {maxAttempts: 90, backoff: fixed, initialDelayMs: 10000}}
            output: {booked: $.output.booked}
      booked: {terminal: true}
  lease:
    title: Lease a room
    initialState: held
    timeoutMs: 45000
    onTimeout: {target: lapsed}
    states:
      held: {transitions: {give_back: {target: returned}}}
      returned: {terminal: true}
      lapsed: {terminal: true}
  checks:
    title: Check an item
    initialState: open
    states:
      open: {transitions: {finish: {target: done, output: {checked: true}}}}
      done: {terminal: true}
  bundle:
    title: Check and ship
    initialState: open
    states:
      open:
        transitions:
          check: {target: shipped, executor: {kind: workflow, definitionId: checks}, output: {result: $.output}}
      shipped: {terminal: true}
  fire:
    title: Burn a file
    initialState: open
    states:
      open: {transitions: {burn: {target: burnt, executor: {kind: function, function: "orders::burn"}}}}
      burnt: {terminal: true}
"""
EXECUTOR_TEMPLATE: Mapping[str, Any] = {
    "AWSTemplateFormatVersion": "2010-09-09",
    "Transform": "AWS::Serverless-2016-10-31",
    "Parameters": {"Layer": {"Type": "String"}, "Endpoint": {"Type": "String"}},
    "Resources": {
        "Keys": {
            "Type": "AWS::SecretsManager::Secret",
            "Properties": {
                "Tags": [{"Key": "signpost:executor-keys", "Value": EXECUTOR}],
                "GenerateSecretString": {"SecretStringTemplate": "{}", "GenerateStringKey": "current"},
            },
        },
        "Orders": {
            "Type": "AWS::Serverless::Function",
            "Properties": {
                "FunctionName": EXECUTOR,
                "Runtime": "python3.13",
                "Handler": "index.handler",
                "InlineCode": CODE,
                "Architectures": [machine_architecture()],
                "Timeout": 10,
                "Layers": [{"Ref": "Layer"}],
                "Environment": {
                    "Variables": {
                        "AWS_ENDPOINT_URL": {"Ref": "Endpoint"},
                        "EXECUTOR_KEY_SECRET_ARN": {"Fn::GetAtt": ["Keys", "Id"]},
                        "SHOP": "shut",
                    }
                },
                "Policies": [
                    {
                        "Statement": [
                            {
                                "Effect": "Allow",
                                "Action": "secretsmanager:GetSecretValue",
                                "Resource": {"Fn::GetAtt": ["Keys", "Id"]},
                            }
                        ]
                    }
                ],
            },
        },
    },
}


def write_content(folder: Path) -> Path:
    """Write the documents and the manifest below a folder. Return the folder of the documents."""
    documents = folder / "handbook"
    for name, text in DOCUMENTS.items():
        path = documents / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text)
    (folder / MANIFEST_NAME).write_text(MANIFEST)
    return documents


def deploy_executor(laptop: Laptop, stack: Stack) -> None:
    """Deploy the executor, a stack of its own, on the layer that the stack has now."""
    cloudformation = laptop.client("cloudformation")
    cloudformation.create_stack(
        StackName=EXECUTOR,
        TemplateBody=json.dumps(EXECUTOR_TEMPLATE),
        Parameters=[
            {"ParameterKey": "Layer", "ParameterValue": stack.deployed.outputs["LayerArn"]},
            {"ParameterKey": "Endpoint", "ParameterValue": laptop.emulator.url},
        ],
        Capabilities=["CAPABILITY_IAM", "CAPABILITY_AUTO_EXPAND"],
    )
    cloudformation.get_waiter("stack_create_complete").wait(StackName=EXECUTOR, WaiterConfig={"Delay": 1})
