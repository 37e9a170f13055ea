-- A repair takes claims away that no order in the log has. Everything else only
-- ever writes them.
grant delete on claims to {{.app}};
