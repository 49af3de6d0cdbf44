"""What makes agents act: one file a policy."""
