"""asyncio's surface inside of a run: ordinary Python over our own futures, in creation order.

The shapes here outlive a process, so they are ours; the rules they follow are asyncio's.
"""
