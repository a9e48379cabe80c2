"""Which things of a catalogue a query is about: the literal rule, and a stronger ranking of words and spellings."""
