"""Boards that are drawn, whole and with defects: samples and test pictures of the inspection pipeline."""
