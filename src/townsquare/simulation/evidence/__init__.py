"""Records of claims in a run: which claims posts make, and which each agent holds."""
