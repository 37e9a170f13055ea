-- Seals over the log, what was exported and detached of it, and settings for a
-- table that is only ever inserted into.

-- Each seal stands for a run of the log. The same seals are exported to a file
-- outside of this database: whoever rewrites both tables here is found by it.
create table seals (
  number         bigint           not null primary key check (number > 0),
  first_position bigint           not null unique check (first_position > 0),
  last_position  bigint           not null unique,
  root           bytea            not null check (octet_length(root) = 32),
  head           bytea            not null check (octet_length(head) = 32),
  previous       bytea            not null check (octet_length(previous) = 32),
  sealed_at      timestamptz      not null,
  key_id         text collate "C" not null,
  signature      bytea            not null check (octet_length(signature) = 64),
  check (last_position >= first_position)
);
grant select, insert on seals to {{.app}};

-- Public keys of seals, for whoever has none of his own. Private keys are never
-- in the database: whoever could rewrite it could sign it too.
create table seal_keys (
  key_id     text collate "C" not null primary key,
  public_key bytea            not null check (octet_length(public_key) = 32),
  created_at timestamptz      not null default clock_timestamp()
);
grant select, insert on seal_keys to {{.app}};

-- Losses of the log that somebody accepted.
create table log_losses (
  accepted_at timestamptz not null default clock_timestamp(),
  head        bigint      not null check (head >= 0),
  lost_to     bigint      not null,
  by          text        not null,
  reason      text        not null
);
grant select, insert on log_losses to {{.app}};

-- Exports of closed partitions: where the file is, and its SHA-256 (of what is
-- packed, where it is packed).
create table archives (
  first_position bigint           not null references event_partitions (first_position),
  file           text             not null check (file <> ''),
  digest         bytea            not null check (octet_length(digest) = 32),
  head           bytea            not null check (octet_length(head) = 32),
  exported_at    timestamptz      not null default clock_timestamp(),
  primary key (first_position, file)
);
grant select, insert on archives to {{.app}};

-- Streams, other than those of orders, whose newest record was detached.
create table archived_streams (
  stream text collate "C" not null primary key
);
grant select on archived_streams to {{.app}};

-- Sales of which a record was detached.
create table archived_sales (
  sale_id text collate "C" not null primary key
);
grant select on archived_sales to {{.app}};

do $$
declare
  t text;
begin
  foreach t in array array['seals', 'seal_keys', 'log_losses', 'archives'] loop
    execute format('create trigger %I before update or delete or truncate on %I for each statement execute function refuse_change()',
                   t || '_append_only', t);
    execute format('alter table %I enable always trigger %I', t, t || '_append_only');
  end loop;
end $$;

-- Readers heed detaching_at at once and the records go a few seconds later, so
-- that none of them takes what was detached for what never was.
alter table event_partitions
  add column detaching_at timestamptz,
  add column detached_at  timestamptz;

-- A partition is never updated, so vacuum has one job: to freeze what is full
-- and to mark it all-visible, once, long before it must.
create function tune_partition(part text) returns void
language plpgsql set search_path = {{.ns}}, pg_temp as $$
begin
  execute format('alter table %I set (fillfactor = 100, autovacuum_vacuum_insert_scale_factor = 0, '
    'autovacuum_vacuum_insert_threshold = 200000, autovacuum_freeze_min_age = 0, '
    'autovacuum_analyze_scale_factor = 0.1, autovacuum_analyze_threshold = 10000)', part);
end $$;
revoke all on function tune_partition(text) from public;

create or replace function ensure_partitions(up_to bigint, size bigint) returns bigint
language plpgsql security definer set search_path = {{.ns}}, pg_temp as $$
declare
  here bigint;
  part text;
begin
  if up_to is null or size is null or size < 100 then
    raise exception 'a partition of the log holds at least 100 positions' using errcode = 'invalid_parameter_value';
  end if;
  perform pg_advisory_xact_lock({{.partition_lock}});
  select coalesce(max(next_position), 1) into here from event_partitions;
  if up_to >= here + 100 * size then
    raise exception 'position % is too far beyond the log', up_to using errcode = 'invalid_parameter_value';
  end if;
  while here <= up_to loop
    part := 'events_' || lpad(here::text, 12, '0');
    execute format('create table %I (like events including defaults including constraints)', part);
    perform tune_partition(part);
    execute format('alter table %I add constraint %I primary key (position)', part, part || '_position');
    execute format('alter table %I add constraint %I unique (stream, version)', part, part || '_stream_version');
    execute format('alter table %I add constraint %I unique (event_id)', part, part || '_event_id');
    execute format('alter table %I add constraint %I check (position >= %s and position < %s)',
                   part, part || '_range', here, here + size);
    execute format('alter table events attach partition %I for values from (%s) to (%s)', part, here, here + size);
    execute format('alter table %I drop constraint %I', part, part || '_range');
    execute format('create trigger %I before update or delete or truncate on %I for each statement execute function refuse_change()',
                   part || '_append_only', part);
    execute format('alter table %I enable always trigger %I', part, part || '_append_only');
    insert into event_partitions (first_position, next_position, name) values (here, here + size, part);
    here := here + size;
  end loop;
  return here;
end $$;

select tune_partition(name) from event_partitions;

-- log_guarded says, a line each, what is wrong with the tables of the log: a
-- partition that is gone or came from elsewhere, a trigger that is gone or off.
create function log_guarded() returns setof text
language sql stable set search_path = {{.ns}}, pg_temp as $$
  with children as (
    select c.oid, c.relname::text as name from pg_inherits i join pg_class c on c.oid = i.inhrelid
    where i.inhparent = 'events'::regclass)
  select 'the partition ' || p.name || ', positions ' || p.first_position || ' to ' || p.next_position - 1
         || ', is not part of the log any more'
  from event_partitions p where p.detached_at is null and not exists (select 1 from children c where c.name = p.name)
  union all
  select 'the table ' || c.name || ' is part of the log and should not be'
  from children c where not exists (select 1 from event_partitions p where p.name = c.name and p.detached_at is null)
  union all
  select 'the trigger that keeps ' || g.name || ' append-only is ' || case when t.oid is null then 'gone' else 'off' end
  from (select oid, name from children
        union all select 'events'::regclass, 'events'
        union all select 'seals'::regclass, 'seals') g
  left join pg_trigger t on t.tgrelid = g.oid and t.tgname = g.name || '_append_only'
  where t.tgenabled is distinct from 'A'
$$;

-- detachable says in a sentence why a partition may not be detached, or nothing.
create function detachable(first bigint) returns text
language plpgsql stable set search_path = {{.ns}}, pg_temp as $$
declare
  p event_partitions;
begin
  select * into p from event_partitions where first_position = first;
  if p is null then
    return 'no partition of the log begins at position ' || first;
  elsif p.detached_at is not null then
    return 'the partition is detached already';
  elsif exists (select 1 from event_partitions o where o.first_position < first and o.detached_at is null) then
    return 'an older partition is still in the log: the oldest goes first';
  elsif not exists (select 1 from events where position >= p.next_position) then
    return 'the partition is not closed: the log has not gone on behind it';
  elsif not exists (select 1 from seals where last_position >= p.next_position - 1) then
    return 'the partition is not sealed to its end';
  elsif not exists (select 1 from archives a where a.first_position = first) then
    return 'the partition was not exported';
  end if;
  return null;
end $$;

-- announce_detach tells every reader that a partition is about to go.
create function announce_detach(first bigint) returns void
language plpgsql security definer set search_path = {{.ns}}, pg_temp as $$
begin
  if detachable(first) is not null then
    raise exception '%', detachable(first) using errcode = 'object_not_in_prerequisite_state';
  end if;
  update event_partitions set detaching_at = clock_timestamp() where first_position = first and detaching_at is null;
end $$;
revoke all on function announce_detach(bigint) from public;
grant execute on function announce_detach(bigint) to {{.app}};

-- detach_partition takes a partition out of the log, at least 5 s after it was
-- announced. The table stays, guarded, until its owner drops it.
create function detach_partition(first bigint) returns text
language plpgsql security definer set search_path = {{.ns}}, pg_temp set lock_timeout = '2s' as $$
declare
  p event_partitions;
begin
  if detachable(first) is not null then
    raise exception '%', detachable(first) using errcode = 'object_not_in_prerequisite_state';
  end if;
  select * into p from event_partitions where first_position = first;
  if p.detaching_at is null or p.detaching_at > clock_timestamp() - interval '5 s' then
    raise exception 'the detaching was not announced 5 seconds ago' using errcode = 'object_not_in_prerequisite_state';
  end if;
  execute format('insert into archived_streams (stream)
    select n.stream from (select stream, max(version) as version from %I where order_id = '''' group by stream) n
    where not exists (select 1 from streams s where s.stream = n.stream and s.version > n.version)
    on conflict do nothing', p.name);
  execute format('insert into archived_sales (sale_id) select distinct sale_id from %I where sale_id <> ''''
    on conflict do nothing', p.name);
  execute format('alter table events detach partition %I', p.name);
  update event_partitions set detached_at = clock_timestamp() where first_position = first;
  return p.name;
end $$;
revoke all on function detach_partition(bigint) from public;
grant execute on function detach_partition(bigint) to {{.app}};
