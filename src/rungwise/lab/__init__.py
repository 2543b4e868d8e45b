"""The laboratory: public benchmarks, and the paper's evaluation on them; no study needs it."""
