"""What only the test stage has: built into the layer by SIGNPOST_STAGE=test, and in no product build."""
