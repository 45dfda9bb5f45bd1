DATA = None
