"""Index learning for many topics: each feature keeps a few weighted connections to topics."""
