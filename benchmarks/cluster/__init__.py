"""Benchmarks of many workers: the service, and executors of clusters."""
