"""What there is to do and what may start: plans, nodes, edges, events."""
