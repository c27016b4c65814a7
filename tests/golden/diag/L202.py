import uuid
from dataclasses import dataclass, field
from datetime import datetime

from perdure import workflow


@dataclass
class Order:
    total: int
    id: uuid.UUID = field(default_factory=uuid.uuid4)
    at: datetime = field(default_factory=datetime.now)
    lines: list = field(default_factory=list)


@workflow
async def flow(total):
    return Order(total)
