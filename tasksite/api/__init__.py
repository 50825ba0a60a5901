"""The door for programs: /api/v1/. Parse, call one service, show what it answered."""
