"""Small tables of experiments: full factorials of three to six factors, 50 evaluations, some with noise."""
