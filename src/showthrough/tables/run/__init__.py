"""Audits of many areas: batches, the run folder, and its verification."""
