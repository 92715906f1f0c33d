"""Research data that are made up: the samples of the experiments pipeline."""
