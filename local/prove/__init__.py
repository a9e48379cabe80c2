"""Runs every test exhaustively, part by part, and goes on where it stopped: `make prove`."""
