"""`signpost login`: the authorization code flow, and the store of tokens."""
