-- What the read side needs to live with faults: dead letters, and the means to
-- build a view again beside the one that is read.

-- Events that a projection could not apply, each with the later ones of its
-- sequence. The event itself stands in the log; here stands only which, and why.
create table dead_letters (
  projection text collate "C" not null,
  version    integer          not null,
  store      smallint         not null,
  shard      integer          not null,
  sequence   text collate "C" not null,
  position   bigint           not null check (position > 0),
  hash       bytea            not null check (octet_length(hash) = 32),
  type       text collate "C" not null,
  state      text collate "C" not null check (state in ('parked', 'dropped')),
  reason     text             not null,
  tries      integer          not null check (tries >= 0),
  parked_at  timestamptz      not null,
  note       text             not null default '',
  dropped_at timestamptz,
  primary key (projection, version, store, shard, sequence, position)
);
grant select, insert, update, delete on dead_letters to {{.app}};

comment on table dead_letters is 'events of the log that a projection has not applied, by sequence';
comment on column dead_letters.sequence is 'the order of the event if it has one, else its stream: what is applied in order and set aside together';
comment on column dead_letters.position is 'position of the event in the log';
comment on column dead_letters.hash is 'hash of the event there, so that a log that changed is noticed';
comment on column dead_letters.state is 'parked: waits to be applied; dropped: given up by a person. Later events of the sequence join it in its state';
comment on column dead_letters.reason is 'why it was not applied';
comment on column dead_letters.tries is 'attempts that failed; 0 for one that only follows another';
comment on column dead_letters.note is 'what the person who dropped it said';

-- Counts the changes of which sequences are set aside, so that whoever applies
-- this shard notices under the lock of its checkpoint that it must look again.
alter table checkpoints add column letters bigint not null default 0;

-- Tables that may be built again and swapped. Nothing else ever is: the log
-- belongs to the same owner. Who adds a view adds its table here.
create table view_tables (
  name text collate "C" not null primary key
);
insert into view_tables (name) values ('order_view'), ('stock_log'), ('sale_summary');
grant select on view_tables to {{.app}};

-- Rebuilds under way, for people; what counts is the lock of who rebuilds.
create table rebuilds (
  projection text collate "C" not null,
  version    integer          not null,
  store      smallint         not null,
  position   bigint           not null,
  target     bigint           not null,
  started_at timestamptz      not null,
  seen_at    timestamptz      not null,
  primary key (projection, store)
);
grant select, insert, update, delete on rebuilds to {{.app}};

-- shadow_of gives the name of the table that is built beside a view's.
create function shadow_of(view text) returns text
language plpgsql stable security definer set search_path = {{.ns}}, pg_temp as $$
begin
  if view is null or not exists (select from view_tables where name = view) then
    raise exception '% is not a table of a view', view using errcode = 'invalid_parameter_value';
  end if;
  return view || '__next';
end $$;

-- make_shadow makes an empty table like a view's beside it, with its keys and
-- without its other indexes. One that was left over goes first.
create function make_shadow(view text) returns text
language plpgsql security definer set search_path = {{.ns}}, pg_temp as $$
declare
  shadow text := shadow_of(view);
  item   record;
begin
  execute format('drop table if exists %I', shadow);
  execute format('create table %I (like %I including defaults including constraints including generated including storage including comments)', shadow, view);
  for item in select unnest(reloptions) as setting from pg_class where oid = format('%I', view)::regclass loop
    execute format('alter table %I set (%s)', shadow, item.setting);
  end loop;
  for item in select conname as name, pg_get_constraintdef(oid) as body from pg_constraint
              where conrelid = format('%I', view)::regclass and contype in ('p', 'u') order by conname loop
    execute format('alter table %I add constraint %I %s', shadow, item.name || '__next', item.body);
  end loop;
  execute format('grant select, insert, update, delete on %I to {{.app}}', shadow);
  return shadow;
end $$;

-- index_shadow makes one more of the view's indexes on the table beside it, and
-- tells whether there was one to make.
create function index_shadow(view text) returns boolean
language plpgsql security definer set search_path = {{.ns}}, pg_temp as $$
declare
  shadow text := shadow_of(view);
  item   record;
begin
  select c.relname || '__next' as name, i.indisunique as uniq, pg_get_indexdef(i.indexrelid) as body into item
  from pg_index i join pg_class c on c.oid = i.indexrelid
  where i.indrelid = format('%I', view)::regclass
    and not exists (select from pg_constraint where conindid = i.indexrelid)
    and not exists (select from pg_index n join pg_class d on d.oid = n.indexrelid
                    where n.indrelid = format('%I', shadow)::regclass and d.relname = c.relname || '__next')
  order by c.relname limit 1;
  if not found then
    return false;
  end if;
  execute format('create %s index %I on %I %s', case when item.uniq then 'unique' else '' end, item.name, shadow,
                 substr(item.body, strpos(item.body, ' USING ')));
  return true;
end $$;

-- swap_shadow puts the table that was built in the place of the view's, names of
-- indexes included. Readers wait for the end of the transaction, and then find
-- the new one under the same name.
create function swap_shadow(view text) returns void
language plpgsql security definer set search_path = {{.ns}}, pg_temp as $$
declare
  shadow text := shadow_of(view);
  item   record;
begin
  execute format('drop table %I', view);
  execute format('alter table %I rename to %I', shadow, view);
  for item in select c.relname as name from pg_index i join pg_class c on c.oid = i.indexrelid
              where i.indrelid = format('%I', view)::regclass loop
    execute format('alter index %I rename to %I', item.name, left(item.name, -length('__next')));
  end loop;
end $$;

-- drop_shadow takes away what was being built.
create function drop_shadow(view text) returns void
language plpgsql security definer set search_path = {{.ns}}, pg_temp as $$
begin
  execute format('drop table if exists %I', shadow_of(view));
end $$;

-- analyze_shadow gathers the statistics that the first reader's plan needs.
create function analyze_shadow(view text) returns void
language plpgsql security definer set search_path = {{.ns}}, pg_temp as $$
begin
  execute format('analyze %I', shadow_of(view));
end $$;

revoke all on function shadow_of(text), make_shadow(text), index_shadow(text), swap_shadow(text), drop_shadow(text), analyze_shadow(text) from public;
grant execute on function shadow_of(text), make_shadow(text), index_shadow(text), swap_shadow(text), drop_shadow(text), analyze_shadow(text) to {{.app}};
