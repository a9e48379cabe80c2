"""Which executor hosts which functions: offers, placements and loads."""
