"""Runs SAM's own local commands in containers, with a stack on the emulator: `make sam-local`."""
