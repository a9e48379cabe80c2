"""The time-outs and retries of the AWS clients."""

from botocore.config import Config

CLIENT_CONFIG = Config(connect_timeout=1, read_timeout=3, retries={"total_max_attempts": 3, "mode": "standard"})
# One attempt: a second one may run a slow function twice. The read timeout is longer than every caller's deadline.
CALL_CONFIG = Config(connect_timeout=1, read_timeout=60, retries={"total_max_attempts": 1}, max_pool_connections=32)
LONG_CALL_CONFIG = CALL_CONFIG.merge(Config(read_timeout=900, tcp_keepalive=True))
"""For calls with no waiting client: as long as a function may run, over connections that are kept alive."""
SIGNED_URL_CONFIG = CLIENT_CONFIG.merge(Config(signature_version="s3v4"))
