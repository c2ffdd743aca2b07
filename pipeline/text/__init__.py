"""From text to vectors: tokens, terms, and the weights of a document."""
