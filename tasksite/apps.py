from django.apps import AppConfig


class TasksiteConfig(AppConfig):
    name = "tasksite"

    def ready(self) -> None:
        from tasksite import checks  # noqa: F401  # registers them
