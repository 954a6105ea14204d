"""The toys of the page Train: what they learn from, how they learn, and runs that somebody watches."""
