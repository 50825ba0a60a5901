"""Callers of the API."""

import pytest

from leases.models import Role
from tests.doors.api import Api


@pytest.fixture
def worker(db: None) -> Api:
    return Api.as_role(Role.WORKER)


@pytest.fixture
def lead(db: None) -> Api:
    return Api.as_role(Role.LEAD)
