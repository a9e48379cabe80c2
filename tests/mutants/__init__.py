"""Mutants: changes to the product that each break one promise. The tests must notice every one."""
