"""Compare recorded outputs of published functions with this installation."""
