"""How far a score within a stretch may be from that of an undivided learner.

Both are sums of the same products, added up in another order. So they differ by at most `UNIT`
times the number of products times the lengths of the document and the prototype.
"""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

Words = npt.NDArray[np.uint64]

UNIT = 2.0**-51  # four times the rounding of one operation: two computations, and twice for safety
