"""The tokenizer worker: reads documents and writes blocks to the log."""
