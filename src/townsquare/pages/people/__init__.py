"""Reports, tables and figures of rules fitted to people."""
