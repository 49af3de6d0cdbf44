"""What puts posts in order: one file a ranker."""
