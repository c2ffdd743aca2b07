"""Query-document sets: documents that retrieval functions scored for queries, and rankers."""
