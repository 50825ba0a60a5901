"""One class per URL; each handler parses, calls one service and shows what it answered."""
