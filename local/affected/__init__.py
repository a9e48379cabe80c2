"""Selects the tests that a change can affect, from the imports of modules: `make test CHANGED=1`."""
