"""The lists of a deployment in memory."""

from signpost.deployment_lists import DeploymentLists


class MemoryDeploymentLists:
    def __init__(self, lists: DeploymentLists | None = None) -> None:
        self._lists = lists or DeploymentLists()

    def read(self) -> DeploymentLists:
        return self._lists

    def write(self, lists: DeploymentLists) -> None:
        self._lists = lists
