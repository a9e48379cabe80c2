"""A workflow worker beside a gateway in memory: it shares the stores of the gateway, and looks up rights again as the
deployed worker does."""

from signpost.catalogue.step_policy import CurrentPolicy
from signpost.identity.api_keys import ApiKeyAuthenticator
from signpost.wiring import workflows
from signpost.workflow.running.step_rights import CurrentRights
from signpost.workflow.running.wakeups import Waker
from tests.support.memory_gateway import MemoryGateway


def build_memory_worker(gateway: MemoryGateway) -> Waker:
    return build_worker_services(gateway)[1].waker


def build_worker_services(
    gateway: MemoryGateway,
) -> tuple[workflows.WorkflowAdapters, workflows.WorkflowServices]:
    """Build the services of a worker. Its workflows find definitions by the rules of the tenant."""
    adapters, composition = gateway.adapters, gateway.composition
    clock, ids = adapters.clock, adapters.ids
    rights = CurrentRights(
        principals=ApiKeyAuthenticator(keys=adapters.api_keys, clock=clock),
        policy=CurrentPolicy(
            catalogue=composition.catalogue,
            accesses=composition.policy.accesses,
            functions=composition.calling.functions,
        ),
    )
    worker_adapters = workflows.WorkflowAdapters(
        instances=gateway.instances,
        clock=clock,
        ids=ids,
        pause=adapters.pause(),
        alarm=adapters.alarm,
        lease_margin=adapters.lease_margin,
        rights=rights,
    )
    services = workflows.build_workflow_services(
        worker_adapters,
        composition.definitions(),
        lambda service: {
            **workflows.build_step_executors(composition.calling, service, clock, ids),
            **gateway.step_executors,
        },
    )
    return worker_adapters, services
