"""Agent frameworks drive a workflow of the gateway to its end, with a model that follows links."""
