"""The occasions of schedules: cron expressions, rates, time zones, and the instants that they name.

Beside `adapters` this is the only room that uses `datetime`: for the arithmetic of calendars and zones. It reads no
clock.
"""
