"""Pictures that are drawn: the samples of the images pipeline."""
