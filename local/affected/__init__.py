"""Selects the tests that a change can affect, by what modules import: `make test CHANGED=1`."""
