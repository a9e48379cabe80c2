"""Attacks that are played against a deployed stack, and against one without the defence that they meet."""
