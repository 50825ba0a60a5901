"""The API described: OpenAPI 3, made from the operations that the views declare."""
