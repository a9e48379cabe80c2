"""Runs every test exhaustively, part by part, and continues an interrupted run: `make prove`."""
