"""A gateway with executors in one process, and a client of it, for the tests of authors. Lambda functions have none of
it: the build of the layer leaves it out."""
