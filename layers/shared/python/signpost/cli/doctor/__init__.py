"""`signpost doctor`: examines a deployed stack. `rules` decide on facts alone, `readers` read the facts from AWS."""
