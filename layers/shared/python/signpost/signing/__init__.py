"""Keys and signatures: capability tokens, seals and webhooks."""
