"""The hand-written statements and the models stay together: a column that one has, the other knows."""

import re

import pytest
from django.db import models

from graph import sql as graph_sql
from graph.models import Node
from graph.rows import NodeRow
from leases import sql
from leases.models import Attempt, Lease, Run


@pytest.mark.parametrize(
    ("statement", "model"), [(sql.INSERT_LEASES, Lease), (sql.INSERT_RUNS, Run), (sql.INSERT_ATTEMPT, Attempt)]
)
def test_an_insert_names_the_columns_that_must_be_given(statement: str, model: type[models.Model]) -> None:
    found = re.search(r"INSERT INTO (\w+)\s*\(([^)]*)\)", statement)
    assert found and found[1] == model._meta.db_table
    named = {column.strip() for column in found[2].split(",")}
    fields = model._meta.concrete_fields
    assert {field.column for field in fields if not field.null} <= named <= {field.column for field in fields}


def test_a_node_is_read_by_the_columns_of_its_row() -> None:
    assert tuple(graph_sql.NODE_COLUMNS) == NodeRow._fields
    assert {*graph_sql.NODE_COLUMNS} <= {field.column for field in Node._meta.concrete_fields}
