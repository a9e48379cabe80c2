"""Mutants: changes to the product that each break one promise on purpose. The tests must notice every one."""
