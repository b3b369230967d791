"""Tables as offices print them: read from any format and layout, and written again."""
