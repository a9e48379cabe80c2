"""The compositions of the Lambda functions, in a module each, so that a cold start imports only its own."""
