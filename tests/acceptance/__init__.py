"""Files of cases, played against the product: python -m tests.acceptance FILE."""
