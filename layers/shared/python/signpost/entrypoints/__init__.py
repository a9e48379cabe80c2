"""The event handlers of the stack's Lambda functions."""
