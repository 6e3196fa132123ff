"""The migrations, one file each, in order."""
