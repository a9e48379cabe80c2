"""Calls of functions: lookup, limits, wire form, breaker and failures."""
