"""HTML, figures and HTTP, here only."""
