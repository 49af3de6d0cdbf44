"""The client of language models: what is asked, how it is sent, checked, retried, recorded and asked no second time."""
