"""Shared by the commands for workflow instances: the reader, timeline, outline, decisions and submissions."""
