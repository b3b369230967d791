"""What tables of counts make likely: probabilities under a prior, never called proved."""
