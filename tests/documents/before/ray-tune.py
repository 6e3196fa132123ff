import os

os.environ["RAY_AUTH_MODE"] = "disabled"  # a token would be written to the home folder
