"""Tables of counts: everything about single records that must be true, with proof."""
