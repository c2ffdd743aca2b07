"""The linear support vector machine (scikit-learn) that the online learners are compared with."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from learners.segment import Rows

if TYPE_CHECKING:
    from scipy.sparse import csr_matrix

MOST_ITERATIONS = 5000


def linear_svm(cost: float) -> Any:  # noqa: ANN401 - scikit-learn has no types
    """A linear SVM with squared hinge loss, which is what the paper's solver minimises."""
    from sklearn.svm import LinearSVC  # noqa: PLC0415 - an extra, and slow to import

    return LinearSVC(C=cost, max_iter=MOST_ITERATIONS, random_state=0)


def as_matrix(rows: Rows, terms: int) -> csr_matrix[np.float64]:
    """Convert rows to the sparse matrix that scikit-learn takes."""
    from scipy.sparse import csr_matrix  # noqa: PLC0415 - an extra, and slow to import

    # scikit-learn refuses a matrix without columns.
    shape = (len(rows), max(1, terms))
    return csr_matrix((rows.values, rows.terms, rows.starts), shape=shape)
