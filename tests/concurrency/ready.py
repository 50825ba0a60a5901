"""Django as a member of a crew needs it. Each member inherits it, and opens a database connection of its own."""

import django

django.setup()
