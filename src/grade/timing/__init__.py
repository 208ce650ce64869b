"""How long parts of models take, under strategies from operator by operator to compiled as one."""
