"""A DynamoDB client with the settings of the gateway's. Every peer makes one at init, because the gateway does too."""

import boto3
from botocore.config import Config

client = boto3.client(
    "dynamodb",
    config=Config(connect_timeout=1, read_timeout=3, retries={"total_max_attempts": 3, "mode": "standard"}),
)
