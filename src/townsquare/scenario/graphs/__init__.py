"""Who follows whom at the start, and whom a newcomer follows: the family ``graph``, one file a kind."""
