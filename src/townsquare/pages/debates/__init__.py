"""Reports and figures of debates."""
