"""What a run starts from: posts, accounts, times, events, people and the follow graph."""
