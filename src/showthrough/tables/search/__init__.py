"""How a claim is decided: worlds refute it, multipliers prove it, the solver only searches."""
