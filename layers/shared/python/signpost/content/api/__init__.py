"""The functions of the registry: payloads in, answers or refusals out."""
