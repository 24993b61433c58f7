"""The commands, one module each: options, the call, the exit code."""
