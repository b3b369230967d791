"""VIPR certificates, which programs of other people check."""
