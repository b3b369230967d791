"""The fast road: which cells to suppress so that given cells are not determined, in table space."""
