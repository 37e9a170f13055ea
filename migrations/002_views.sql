-- The read models of the first projections. Everything here can be thrown away
-- and folded again from the log, to the same bytes: when something was applied
-- stands beside the checkpoints, never in a view.

-- One row per order: the fold of its stream.
create table order_view (
  order_id     text collate "C" not null primary key,
  sale_id      text collate "C" not null,
  buyer_id     text collate "C" not null,
  bucket       integer          not null,
  lines        jsonb            not null,
  units        bigint           not null,
  amount_minor bigint           not null,
  currency     text collate "C" not null,
  status       text collate "C" not null,
  reason       text collate "C" not null,
  refund_due   boolean          not null,
  placed_at    timestamptz      not null,
  accepted_at  timestamptz,
  pay_by       timestamptz,
  entry        text collate "C" not null,
  version      bigint           not null check (version > 0),
  trace_id     text collate "C" not null,
  position     bigint           not null check (position > 0)
) with (fillfactor = 85);
create index order_view_buyer on order_view (sale_id, buyer_id, placed_at desc, order_id);
create index order_view_sale on order_view (sale_id, order_id);
grant select, insert, update, delete on order_view to {{.app}};

comment on column order_view.placed_at is 'when the first event of the order was recorded';
comment on column order_view.version is 'version of the order''s stream';
comment on column order_view.position is 'position of the last event applied';

-- One row per event that changed a stock, with the quantity as it changed it.
create table stock_log (
  store    smallint         not null,
  position bigint           not null,
  sale_id  text collate "C" not null,
  sku      text collate "C" not null,
  quantity bigint           not null check (quantity <> 0),
  order_id text collate "C" not null,
  at       timestamptz      not null,
  primary key (store, position)
);
create index stock_log_item on stock_log (sale_id, sku);
grant select, insert, update, delete on stock_log to {{.app}};

-- What happened to the orders of a sale: one row per sale and shard (and
-- currency, so that amounts of different money are never added up).
create table sale_summary (
  store        smallint         not null,
  sale_id      text collate "C" not null,
  shard        integer          not null,
  currency     text collate "C" not null,
  placed       bigint           not null,
  rejected     bigint           not null,
  paid         bigint           not null,
  cancelled    bigint           not null,
  expired      bigint           not null,
  units        bigint           not null,
  amount_minor bigint           not null,
  primary key (sale_id, store, shard, currency)
) with (fillfactor = 50);
grant select, insert, update, delete on sale_summary to {{.app}};
