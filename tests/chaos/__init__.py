"""Real servers are broken while real requests run; `make chaos`. One file, one fault."""
