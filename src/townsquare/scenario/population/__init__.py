"""People: personas drawn from a question bank or made from a survey, and the margins they meet."""
