"""Sonde beside local and evolutionary methods, from 2 to 100 parameters, without gradients."""
