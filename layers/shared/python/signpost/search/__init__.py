"""Searches a catalogue by a published literal rule, or by a stronger ranking of words and spellings."""
