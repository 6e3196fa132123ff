"""Products with the matrices of a kernel's derivatives: figures 2, 3, 4, 6 and table 1 of paper 002, and targets."""
