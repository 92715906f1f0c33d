"""What is not shipped: simulation, chaos, history checker, benchmarks, load, generators of documents, test servers."""
