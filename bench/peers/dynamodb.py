"""What the gateway makes at init too, and every peer is given: one client of DynamoDB with the same settings."""

import boto3
from botocore.config import Config

client = boto3.client(
    "dynamodb",
    config=Config(connect_timeout=1, read_timeout=3, retries={"total_max_attempts": 3, "mode": "standard"}),
)
