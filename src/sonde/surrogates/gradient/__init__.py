"""The Gaussian process on values and gradients (Ament & Gomes 2022)."""
