"""Where each door stands."""

from django.contrib import admin
from django.urls import include, path

urlpatterns = [
    path("", include("tasksite.health")),
    path("admin/", admin.site.urls),
]
