"""HTTP requests of API Gateway: the steps before and after the protocol."""
