"""Plain-Python twins of the learners and measures: the formulas, one dictionary at a time.

They are the specification of the compiled kernels: tests compare the two to the last bit, so the
twins add up in the same order as the kernels. A document is `{feature: value}`, topics are names,
and `known` lists the topics that exist, in the order that breaks ties.

Each file twins the file of the same name in `learners/`.
"""
