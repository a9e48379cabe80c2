"""An ASGI app behind Mangum with a lifespan that is entered once and stays open.

Mangum would enter the lifespan again for every event, which the session manager of the SDK refuses the second time.
"""

# pyright: reportMissingImports=false, reportUnknownVariableType=false, reportUnknownMemberType=false
# pyright: reportUnknownArgumentType=false
# Mangum is only in the venvs of the peers that use it.
import asyncio
from typing import Any

from mangum import Mangum
from starlette.applications import Starlette


class MangumApp:
    def __init__(self, app: Starlette) -> None:
        self._lifespan = app.router.lifespan_context(
            app
        )  # in a field, because a lifespan that is garbage-collected is closed
        self._mangum = Mangum(app, lifespan="off")
        loop = asyncio.new_event_loop()
        asyncio.set_event_loop(loop)
        loop.run_until_complete(self._lifespan.__aenter__())

    def __call__(self, event: dict[str, Any], context: object) -> dict[str, Any]:
        return self._mangum(event, context)
