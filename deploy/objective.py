"""What the workers of compose.yaml run for each trial; put your own here."""

import sys

x = float(sys.argv[1])
print((x - 0.3) ** 2)
