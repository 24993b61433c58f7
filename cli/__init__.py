"""The command line: parse, call, render, exit code. No solver is imported here."""
