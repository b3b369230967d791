"""Numbers with additive noise: what the noise was meant to hide, and how much of it comes back."""
