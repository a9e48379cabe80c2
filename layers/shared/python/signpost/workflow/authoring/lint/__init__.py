"""The checks of `signpost check`."""
