async def try_except(order):
    try:
        receipt = await charge(order)
        label = await ship(order)
    except (ValueError, errors.Refused) as problem:
        await notify(problem)
        return None
    except Exception:
        label = "none"
    except:
        raise
    else:
        await notify(receipt)
    return label
