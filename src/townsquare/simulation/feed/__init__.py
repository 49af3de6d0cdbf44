"""What each reader is shown: candidates, ranking, the rows of a feed."""
