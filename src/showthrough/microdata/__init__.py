"""Records with a randomized sensitive column: how to publish them, and what a publication promises."""
