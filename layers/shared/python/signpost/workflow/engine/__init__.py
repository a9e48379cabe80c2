"""The engine: decides how an event changes an instance. Pure."""
