"""The processes of a command: the supervisor, the worker, and what the worker hands over."""
