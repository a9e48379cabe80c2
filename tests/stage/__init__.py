"""Code of the test stage alone: built into the layer by SIGNPOST_STAGE=test, and in no product build."""
