"""Stopping trials early by their learning curves."""
