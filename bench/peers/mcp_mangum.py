"""The MCP SDK as an ASGI app, stateless and answering in JSON, behind Mangum."""

from mcp.server.transport_security import TransportSecuritySettings

from bench.peers import dynamodb
from bench.peers.lasting import Lasting
from bench.peers.sdk import server

# Its list of allowed hosts knows only localhost; API Gateway has decided already.
OPEN = TransportSecuritySettings(enable_dns_rebinding_protection=False)

client = dynamodb.client
handler = Lasting(server.streamable_http_app(stateless_http=True, json_response=True, transport_security=OPEN))
