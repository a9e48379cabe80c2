"""The MCP SDK as an ASGI app, stateless and answering in JSON, behind Mangum."""

from mcp.server.transport_security import TransportSecuritySettings

from bench.peers import dynamodb
from bench.peers.mangum_app import MangumApp
from bench.peers.sdk import server

# The SDK allows only localhost as a host by default. API Gateway has already decided about the host.
OPEN = TransportSecuritySettings(enable_dns_rebinding_protection=False)

client = dynamodb.client
handler = MangumApp(server.streamable_http_app(stateless_http=True, json_response=True, transport_security=OPEN))
