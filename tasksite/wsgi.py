"""What the web server runs."""

import os

from django.conf import settings
from django.core.wsgi import get_wsgi_application

os.environ.setdefault("DJANGO_SETTINGS_MODULE", "tasksite.settings")
settings.DATABASES["default"]["OPTIONS"].update(settings.WEB_DATABASE_OPTIONS)

application = get_wsgi_application()
