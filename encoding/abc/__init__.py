"""ABC's `pdr`, an implementation of IC3 in C, as an engine. The wheel pyosys has the program `yosys-abc`."""
