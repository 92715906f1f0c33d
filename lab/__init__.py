"""What is not shipped: simulation, chaos, history checker, benchmarks, load, document generators."""
