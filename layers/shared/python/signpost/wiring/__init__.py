"""The composition of each function, in a module of its own: a cold start imports what its function needs."""
