"""`signpost publish`: reads files and manifests, and sends them to the registry as one publication."""
