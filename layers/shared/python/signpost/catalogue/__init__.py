"""The catalogue of a tenant: snapshots of its workflows, capabilities and connections, and the definitions behind
them."""
