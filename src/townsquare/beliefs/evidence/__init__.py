"""Argument records: claims made from posts, who holds them, which of them count, and what is retrieved."""
