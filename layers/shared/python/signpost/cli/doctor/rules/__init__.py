"""The rules of the examination: each module has the facts of one check, and the findings that follow from them."""
