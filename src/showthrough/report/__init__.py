"""Results as pages: one self-contained HTML file that a reader opens without a network."""
