"""The 2020 Census: homes, the tables published about them, readers, and simulated data."""
