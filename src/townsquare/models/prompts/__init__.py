"""The words that language models are given."""
