"""What keeps a stack from going back to an earlier release."""
