"""Runs instances: claims, attempts, settlements, wake-ups, and their text form."""
