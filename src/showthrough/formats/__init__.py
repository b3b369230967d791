"""Files that describe releases: schemas, designs, policies, records and counts."""
