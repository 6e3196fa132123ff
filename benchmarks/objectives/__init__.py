"""Several objectives, by hypervolume: Sonde beside Optuna, BoTorch and random search."""
