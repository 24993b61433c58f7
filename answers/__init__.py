"""Answers of the engines to questions about protocols: risks of a configuration, known bugs, theorems."""
