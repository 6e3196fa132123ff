"""The types of NumPy arrays that signatures name."""

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]
Mask = NDArray[np.bool_]
Index = NDArray[np.intp]
Integers = NDArray[np.int64]
