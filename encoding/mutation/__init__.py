"""Mutation of a system: changes of one place of the author's text, and the properties that notice them."""
