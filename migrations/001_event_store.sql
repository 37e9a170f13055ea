-- The event store: the log, what the log must answer under its lock (streams,
-- guards, claims, cursors), the identity of the store, and checkpoints.

grant usage on schema {{.ns}} to {{.app}};
grant select on schema_version to {{.app}};

-- Who this store is. Its number stands in order ids, records and envelopes.
create table store (
  number     smallint    not null primary key check (number > 0),
  uuid       uuid        not null,
  created_at timestamptz not null default clock_timestamp()
);
create unique index store_one_row on store ((true));
insert into store (number, uuid) values (1, gen_random_uuid());
grant select on store to {{.app}};

-- Keys that sign order ids. Made here, once, out of 488 bits of the server's
-- strong random numbers, so that the key is never part of a statement's text.
create table order_keys (
  number     smallint    not null primary key check (number > 0),
  key        bytea       not null check (octet_length(key) = 32),
  created_at timestamptz not null default clock_timestamp()
);
insert into order_keys (number, key)
values (1, sha256(uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())
               || uuid_send(gen_random_uuid()) || uuid_send(gen_random_uuid())));
grant select on order_keys to {{.app}};

-- The log. What must be unique is unique per partition (a unique index on the
-- parent would have to contain position); across partitions the log lock and
-- the table streams keep it so.
create table events (
  position    bigint           not null,
  event_id    uuid             not null,
  stream      text collate "C" not null,
  version     bigint           not null,
  type        text collate "C" not null,
  schema      integer          not null,
  sale_id     text collate "C" not null,
  order_id    text collate "C" not null,
  recorded_at timestamptz      not null,
  payload     bytea            not null,
  metadata    bytea            not null,
  hash        bytea            not null,
  constraint events_position primary key (position),
  constraint events_position_positive check (position > 0),
  constraint events_version_positive check (version > 0),
  constraint events_stream_named check (stream <> ''),
  constraint events_type_named check (type <> ''),
  constraint events_schema_positive check (schema > 0),
  constraint events_hash_length check (octet_length(hash) = 32)
) partition by range (position);

create index events_order on events (order_id, position) where order_id <> '';
create index events_sale on events (sale_id, position) where sale_id <> '';
create index events_type on events (type, position);
create index events_recorded_at on events using brin (recorded_at) with (autosummarize = on);

create function refuse_change() returns trigger
language plpgsql set search_path = {{.ns}}, pg_temp as $$
begin
  raise exception 'the log is append-only: % on %.% is refused', lower(tg_op), tg_table_schema, tg_table_name
    using errcode = 'insufficient_privilege';
end $$;

-- The parent's trigger does not fire for a statement on a partition, so each
-- partition gets its own in ensure_partitions.
create trigger events_append_only before update or delete or truncate on events
  for each statement execute function refuse_change();
alter table events enable always trigger events_append_only;

grant select, insert on events to {{.app}};

create table event_partitions (
  first_position bigint           not null primary key check (first_position > 0),
  next_position  bigint           not null unique,
  name           text collate "C" not null,
  check (next_position > first_position)
);
grant select on event_partitions to {{.app}};

-- ensure_partitions makes partitions of the given size until position up_to
-- has a place, and gives the first position without one. Existing partitions
-- keep the size they were made with. It takes no lock that stops an append.
create function ensure_partitions(up_to bigint, size bigint) returns bigint
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
revoke all on function ensure_partitions(bigint, bigint) from public;
grant execute on function ensure_partitions(bigint, bigint) to {{.app}};

-- For people: the same rows with payload and metadata as JSON. Bytes that are
-- not JSON are shown as base64 instead of stopping the query.
create function bytes_as_json(b bytea) returns json
language plpgsql stable set search_path = {{.ns}}, pg_temp as $$
begin
  if octet_length(b) = 0 then
    return null;
  end if;
  return convert_from(b, 'UTF8')::json;
exception when data_exception then
  return json_build_object('base64', encode(b, 'base64'));
end $$;

create view events_json as
select position, event_id, stream, version, type, schema, sale_id, order_id, recorded_at,
       bytes_as_json(payload) as payload, bytes_as_json(metadata) as metadata, encode(hash, 'hex') as hash
from events;
grant select on events_json to {{.app}};

-- Where each stream stands. One row per stream and batch, read as the latest
-- by index; a row updated in place would collapse under one open snapshot. Old
-- versions are deleted in pages.
create table streams (
  stream  text collate "C" not null,
  version bigint           not null check (version > 0),
  type    text collate "C" not null,
  hash    bytea            not null check (octet_length(hash) = 32),
  primary key (stream, version)
);
grant select, insert, delete on streams to {{.app}};

-- What was released into a stock stream, taken from it and given back.
create table guards (
  stream   text collate "C" not null,
  version  bigint           not null check (version >= 0),
  released bigint           not null,
  reserved bigint           not null,
  returned bigint           not null,
  primary key (stream, version),
  constraint guards_left_not_negative check (released - reserved + returned >= 0)
);
grant select, insert, update, delete on guards to {{.app}};

-- How far the journal of a lane has been recorded.
create table cursors (
  lane   integer          not null check (lane >= 0),
  epoch  bigint           not null check (epoch >= 0),
  n      bigint           not null check (n >= 0),
  digest text collate "C" not null,
  primary key (lane, epoch, n)
);
grant select, insert, update, delete on cursors to {{.app}};

-- Who holds which order of a sale.
create table claims (
  sale_id   text collate "C" not null,
  buyer_id  text collate "C" not null,
  ordinal   integer          not null check (ordinal > 0),
  order_id  text collate "C" not null,
  quantity  bigint           not null check (quantity >= 0),
  live      boolean          not null,
  key       text collate "C" not null,
  body_hash text collate "C" not null,
  primary key (sale_id, buyer_id, ordinal)
) with (fillfactor = 90);
create index claims_order on claims (order_id);
grant select, insert, update on claims to {{.app}};

-- How far each projection has applied the log, with the hash found there.
create table checkpoints (
  projection text collate "C" not null,
  version    integer          not null,
  store      smallint         not null,
  shard      integer          not null,
  position   bigint           not null check (position >= 0),
  hash       bytea            not null check (octet_length(hash) = 32),
  applied_at timestamptz      not null,
  primary key (projection, version, store, shard)
) with (fillfactor = 50);
grant select, insert, update, delete on checkpoints to {{.app}};
