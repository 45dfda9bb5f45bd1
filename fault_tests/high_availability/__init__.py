"""Two PostgreSQL servers under Patroni with etcd, HAProxy and PgBouncer, as deploy/high-availability configures them."""
