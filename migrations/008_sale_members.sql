-- Lists of buyers who may buy. A list never changes: a sale that gets another one
-- names it in its stream (sale.members_set), and the one before it goes.
create table sale_members (
  list       text collate "C" not null,
  part       integer          not null check (part >= 0),
  sale_id    text collate "C" not null,
  stored_at  timestamptz      not null default now(),
  buyers     text[]           not null,
  primary key (list, part)
);
create index sale_members_sale on sale_members (sale_id);
grant select, insert, delete on sale_members to {{.app}};

comment on table sale_members is 'lists of buyers who may buy, in parts; which one counts stands in the log of the sale';
comment on column sale_members.list is 'id of the list, as sale.members_set names it';
comment on column sale_members.part is 'counts the parts of a list from 0';
