"""Scale by simulation: the real algorithm over a modelled network and Redis, checked by a run."""
