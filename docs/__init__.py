"""The documents, and the script that takes their pictures."""
