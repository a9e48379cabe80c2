"""The core functions, one module each, and the modules that they share."""
