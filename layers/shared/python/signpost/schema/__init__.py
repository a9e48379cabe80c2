"""JSON Schema 2020-12: which schemas we take, and whether a value satisfies one."""
