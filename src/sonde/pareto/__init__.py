"""Pareto dominance among outcomes in K objectives, where higher is better: fronts, their volume, and what lies above.

outcomes -> those that no other dominates (``fronts``) -> the volume that they dominate above a reference point, and how
much of it depends on each (``hypervolume``) -> the region that a new outcome has to reach to improve it (``boxes``).
"""
