"""Acquisition functions of pools and how to maximise them: figures 1 and 2 and table 2 of paper 000."""
