"""SQL of deliveries that inbox and projection share: columns, rows, states, bodies."""
