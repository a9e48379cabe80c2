"""The core functions, one module each, and what they are made of."""
