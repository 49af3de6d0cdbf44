"""Sources: how many there are and what they are called, who follows them, and what they publish when."""
