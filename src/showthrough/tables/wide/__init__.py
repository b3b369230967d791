"""Areas with too many record types to list: decided part by part, and over the attributes that matter."""
