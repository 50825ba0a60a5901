"""Cost is flat in the size of the graph."""
