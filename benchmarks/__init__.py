"""Measurements: one folder a paper, one script a figure or table. Each prints a table and writes CSV and a picture."""
