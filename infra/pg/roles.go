package pg

import (
	"context"
	"fmt"

	"github.com/jackc/pgx/v5"
)

// prepareNamespace makes the two roles and the schema when they are missing.
func prepareNamespace(ctx context.Context, conn *pgx.Conn, ns string) error {
	for _, role := range []string{OwnerRole(ns), AppRole(ns)} {
		if err := ensureRole(ctx, conn, role); err != nil {
			return err
		}
	}
	return ensureSchema(ctx, conn, ns)
}

func ensureRole(ctx context.Context, conn *pgx.Conn, role string) error {
	var exists, member bool
	err := conn.QueryRow(ctx, `
select r.rolname is not null, case when r.rolname is null then false else pg_has_role(current_user, r.oid, 'member') end
from (select $1::text as name) n left join pg_roles r on r.rolname = n.name`, role).Scan(&exists, &member)
	if err != nil {
		return fmt.Errorf("look for role %s: %w", role, err)
	}
	if !exists {
		_, err := conn.Exec(ctx, "create role "+role+" nologin")
		switch SQLState(err) {
		case codeDuplicateObject, codeUniqueViolation: // another node was faster
		case codeForbidden:
			return problem(err, "The role %s does not exist and %q may not create it: ask an administrator to run CREATE ROLE %s; GRANT %s TO %s.",
				role, conn.Config().User, role, role, pgx.Identifier{conn.Config().User}.Sanitize())
		default:
			if err != nil {
				return fmt.Errorf("create role %s: %w", role, err)
			}
		}
	}
	if member {
		return nil
	}
	return joinRole(ctx, conn, role)
}

// joinRole makes the login a member of the role, without which it can neither
// work as the role nor give it a schema. A superuser is a member of all.
func joinRole(ctx context.Context, conn *pgx.Conn, role string) error {
	var super bool
	if err := conn.QueryRow(ctx, "select rolsuper from pg_roles where rolname = current_user").Scan(&super); err != nil {
		return fmt.Errorf("look for the login's rights: %w", err)
	}
	if super {
		return nil
	}
	_, err := conn.Exec(ctx, "grant "+role+" to current_user")
	if SQLState(err) == codeForbidden {
		return problem(err, "The database user %q is not a member of %s: ask an administrator to run GRANT %s TO %s.",
			conn.Config().User, role, role, pgx.Identifier{conn.Config().User}.Sanitize())
	}
	if err != nil {
		return fmt.Errorf("join role %s: %w", role, err)
	}
	return nil
}

func ensureSchema(ctx context.Context, conn *pgx.Conn, ns string) error {
	var owner string
	err := conn.QueryRow(ctx, "select coalesce((select pg_get_userbyid(nspowner) from pg_namespace where nspname = $1), '')", ns).Scan(&owner)
	if err != nil {
		return fmt.Errorf("look for schema %s: %w", ns, err)
	}
	if owner == OwnerRole(ns) {
		return nil
	}
	if owner != "" {
		return problem(nil, "The schema %s belongs to %q and not to %s: choose another namespace, or ask an administrator to run ALTER SCHEMA %s OWNER TO %s.",
			ns, owner, OwnerRole(ns), ns, OwnerRole(ns))
	}
	_, err = conn.Exec(ctx, "create schema if not exists "+ns+" authorization "+OwnerRole(ns))
	if SQLState(err) == codeForbidden {
		return problem(err, "The schema %s does not exist and %q may not create it: ask an administrator to run CREATE SCHEMA %s AUTHORIZATION %s.",
			ns, conn.Config().User, ns, OwnerRole(ns))
	}
	if err != nil {
		return fmt.Errorf("create schema %s: %w", ns, err)
	}
	return nil
}
