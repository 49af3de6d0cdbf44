"""Text scorers: estimate a stance where a post declares none."""
