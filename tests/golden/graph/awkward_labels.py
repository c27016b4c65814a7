async def awkward_labels(order):
    a = await act("quotes ' \" and `ticks`", '<b>|[x]{y}(z)</b>', "#35; & %% ; end")
    if a == "line\nbreak" or order["key"] > 'ünïcode → ✓':
        await act("""a very long text that goes on and on and on and on and on and on and on""")
    return a
