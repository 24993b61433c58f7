"""Answers to users' questions that need the engines: risks of a configuration, known bugs, theorems."""
