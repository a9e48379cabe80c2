"""The readers of the examination: each module reads the facts of one check, with the operator's AWS credentials."""
