"""Embedding: texts as vectors whose angle tells how alike they are in meaning. What uses NumPy is imported on use."""
