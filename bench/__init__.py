"""Benchmarks: what Perdure costs, measured as ratios in one run."""
