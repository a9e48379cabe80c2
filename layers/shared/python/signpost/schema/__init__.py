"""JSON Schema 2020-12: the accepted subset of schemas, defaults, and the validation of values."""
