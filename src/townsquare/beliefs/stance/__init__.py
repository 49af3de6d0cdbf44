"""Text scorers: what stands in for a stance where a post declares none."""
