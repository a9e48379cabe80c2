"""How patient the clients of AWS are."""

from botocore.config import Config

CLIENT = Config(connect_timeout=1, read_timeout=3, retries={"total_max_attempts": 3, "mode": "standard"})
# A second attempt may run a slow function twice. Read timeouts of its own come after every deadline of a caller.
CALLS = Config(connect_timeout=1, read_timeout=60, retries={"total_max_attempts": 1}, max_pool_connections=32)
LONG_CALLS = CALLS.merge(Config(read_timeout=900, tcp_keepalive=True))
"""Where nobody waits: as long as a function may take, over connections that nothing on the way forgets."""
SIGNED_URLS = CLIENT.merge(Config(signature_version="s3v4"))
