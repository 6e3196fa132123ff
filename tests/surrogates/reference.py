"""The problem that GPyTorch solved: see ``freeze_gpytorch``."""

from __future__ import annotations

import numpy as np

LENGTHSCALES = (0.4, 0.9)
SCALE, NOISE, BEND = 1.3, 0.01, 0.2
X = np.array([[-0.4, -0.1], [-0.15, 0.35], [0.05, -0.45], [0.2, 0.1], [0.45, 0.4]])
Y = np.array([-1.2, 0.3, 0.9, 1.1, -0.6])
NEW = np.array([[0.0, 0.0], [0.21, 0.1], [-0.5, 0.5]])
