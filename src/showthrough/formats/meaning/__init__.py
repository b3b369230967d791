"""What printed tables mean: attributes, areas, totals, marks and rounding."""
