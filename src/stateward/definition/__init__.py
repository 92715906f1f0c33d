"""How state machines are written: the YAML loader with line-exact errors, validation, and graph output."""
