"""Plain-Python twins: the rules as the documents write them, one document at a time.

Tests compare the compiled code with them. Each file twins the file of the same name elsewhere in
`pipeline/`.
"""
