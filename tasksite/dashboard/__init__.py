"""The lead's pages: each is one view and one template, whole as a plain GET and as the fragment that htmx swaps."""
