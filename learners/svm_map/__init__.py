"""SVM-map: linear rankers trained for average precision, and the stacker built on them."""
