def make_tables(out, settings): pass
