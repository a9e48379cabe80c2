"""The executors of steps, one kind a module."""
